"""Inputs and outputs of the edit parser: sent files, rules, rejections and edits."""

from enum import StrEnum

from sandbox.changes import Concern
from sandbox.types import FileChange, Frozen

MAX_SHOWN = 200
"""Maximum length of a line quoted in a rejection, in characters."""


class EditFormat(StrEnum):
    """Edit format of an answer."""

    SEARCH_REPLACE = "search_replace"
    APPLY_PATCH = "apply_patch"
    UNIFIED_DIFF = "unified_diff"
    FUNCTION = "function"
    WHOLE_FILE = "whole_file"


class Reason(StrEnum):
    """Reason for a rejection."""

    NO_EDIT = "no edit"
    MALFORMED = "malformed"
    CUT_OFF = "cut off"
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
        """Return True if the model failed at the format and might succeed with another one."""
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
    """Its complete text on the failing tree, line ends included."""
    regions: tuple[tuple[int, int], ...] = ()
    """First and last line (from 1) of each shown region; empty if all was shown."""
    editable: bool = True
    """False for files shown as read-only."""


class EditRules(Frozen):
    """Limits of an answer."""

    allowed: tuple[str, ...] = ()
    """Protected classes, paths or patterns that may be edited; see
    `sandbox.changes.is_protected`."""
    may_create: bool = False
    files: frozenset[str] = frozenset()
    """All paths of the repository; none of them may be created."""
    layout: bool = False
    """True if a change of layout and comments alone may help, as for a linter."""
    max_files: int = 5
    max_changed_lines: int = 300
    """Maximum number of added and removed lines."""
    max_bytes: int = 60_000
    """Maximum size of added text."""
    whole_file_lines: int = 200
    """Files with more lines are not accepted whole."""


class Window(Frozen):
    """Lines of a sent file that resemble the searched text."""

    path: str
    first: int
    text: str

    @property
    def last(self) -> int:
        """Return its last line."""
        return self.first + self.text.count("\n")


class Rejection(Frozen):
    """A reason why no edit of an answer was applied."""

    reason: Reason
    message: str
    """One sentence."""
    path: str = ""
    block: int = 0
    """Number of the edit, from 1; 0 for the whole answer."""
    windows: tuple[Window, ...] = ()
    """Most similar lines first, or every matching place."""


class EditsRead(Frozen):
    """An answer as changes of whole files, or the rejections; never both."""

    changes: tuple[FileChange, ...] = ()
    """Each file once, with its new content; replaced or created."""
    rejections: tuple[Rejection, ...] = ()
    format: EditFormat | None = None
    """The detected format; None if there was none."""
    key: str = ""
    """Equal for answers that result in the same program; identifies a tried change."""
    changed_lines: int = 0
    flags: tuple[Concern, ...] = ()
    """Concerns for a person to review: processes, network, environment, links, new imports."""

    @property
    def format_failed(self) -> bool:
        """Return True if another edit format might have helped."""
        return any(rejection.reason.of_format for rejection in self.rejections)

    @property
    def cut_off(self) -> bool:
        """Return True if the answer ended at its limit before a usable edit."""
        return any(rejection.reason is Reason.CUT_OFF for rejection in self.rejections)
