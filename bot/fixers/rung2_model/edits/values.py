"""What goes into the applier and what comes out: sent files, rules, rejections, the edits that were read."""

from enum import StrEnum

from sandbox.changes import Concern
from sandbox.types import FileChange, Frozen

MAX_SHOWN = 200
"""Characters of a line as a rejection quotes it."""


class EditFormat(StrEnum):
    """How an answer says what to change."""

    SEARCH_REPLACE = "search_replace"
    APPLY_PATCH = "apply_patch"
    UNIFIED_DIFF = "unified_diff"
    FUNCTION = "function"
    WHOLE_FILE = "whole_file"


class Reason(StrEnum):
    """Why an answer is not taken; each is told to the model once."""

    NO_EDIT = "no edit"
    MALFORMED = "malformed"
    NO_PATH = "no path"
    NOT_FOUND = "not found"
    AMBIGUOUS = "ambiguous"
    EMPTY_SEARCH = "empty search"
    ELIDED = "elided"
    INCOMPLETE = "incomplete"
    INDENTATION = "indentation"
    OVERLAP = "overlap"
    TOO_LONG = "too long"
    NOT_SENT = "not sent"
    PROTECTED = "protected"
    EXISTS = "exists"
    NO_CREATION = "no creation"
    DELETES = "deletes"
    UNREADABLE_FILE = "unreadable file"
    NO_CHANGE = "no change"
    TOO_LARGE = "too large"
    SYNTAX = "syntax"
    NAMES = "names"
    TAMPER = "tamper"

    @property
    def of_format(self) -> bool:
        """Whether the model failed at the format, and might do better with another one."""
        return self in _OF_FORMAT


_OF_FORMAT = frozenset(
    {
        Reason.NO_EDIT,
        Reason.MALFORMED,
        Reason.NO_PATH,
        Reason.NOT_FOUND,
        Reason.AMBIGUOUS,
        Reason.EMPTY_SEARCH,
        Reason.ELIDED,
        Reason.INCOMPLETE,
        Reason.INDENTATION,
        Reason.OVERLAP,
    }
)


class SentFile(Frozen):
    """A file as the model saw it."""

    path: str
    text: str
    """All of it, as it stands on the failing tree, line ends included."""
    regions: tuple[tuple[int, int], ...] = ()
    """First and last line (from 1) of what was shown; empty when all of it was."""
    editable: bool = True
    """False for what was shown to be read only."""


class EditRules(Frozen):
    """What an answer may do."""

    allowed: tuple[str, ...] = ()
    """Protected classes, paths or patterns that are open; see `sandbox.changes.is_protected`."""
    may_create: bool = False
    files: frozenset[str] = frozenset()
    """All paths of the repository: none of them may be created."""
    layout: bool = False
    """A change of layout and comments alone is one: a linter is red."""
    max_files: int = 5
    max_changed_lines: int = 300
    """Added and removed."""
    max_bytes: int = 60_000
    """Of added text."""
    whole_file_lines: int = 200
    """Longer files are not taken whole."""


class Window(Frozen):
    """Lines of a sent file that resemble what was searched for."""

    path: str
    first: int
    text: str

    @property
    def last(self) -> int:
        """Its last line."""
        return self.first + self.text.count("\n")


class Rejection(Frozen):
    """One reason why nothing of an answer was applied."""

    reason: Reason
    message: str
    """One sentence."""
    path: str = ""
    block: int = 0
    """Which edit of the answer, from 1; 0 for the answer as a whole."""
    windows: tuple[Window, ...] = ()
    """Nearest first, or every place where the text stands."""


class EditsRead(Frozen):
    """An answer as changes of whole files, or the reasons why there are none: never both."""

    changes: tuple[FileChange, ...] = ()
    """Each file once, as it is to be; replaces and creations only."""
    rejections: tuple[Rejection, ...] = ()
    format: EditFormat | None = None
    """What was recognised; None when nothing was."""
    key: str = ""
    """Equal for answers that come to the same program: names a change among those tried."""
    changed_lines: int = 0
    flags: tuple[Concern, ...] = ()
    """What a person should look at: processes, the network, the environment, links, new imports."""

    @property
    def format_failed(self) -> bool:
        """Whether another edit format might have helped."""
        return any(rejection.reason.of_format for rejection in self.rejections)
