"""Parse a unified diff strictly: everything but plain changes of text files is refused.

git is not used. Every hunk must match its header's lengths, and the original at exactly the given
line.
"""

import re
from collections.abc import Iterator

from sandbox.changes.edits import Read
from sandbox.changes.paths import check_path, show
from sandbox.errors import ChangeRejected
from sandbox.types import FileEdit, Frozen

MAX_PATCH_BYTES = 200_000
MAX_PATCH_FILES = 20
_GIT = re.compile(r"^diff --git a/(?P<old>[^\t\"]+) b/(?P<new>[^\t\"]+)$")
_HUNK = re.compile(r"^@@ -(\d{1,7})(?:,(\d{1,7}))? \+(\d{1,7})(?:,(\d{1,7}))? @@(?: .*)?$")
_INDEX = re.compile(r"^index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: 100(?:644|755))?$")
_NO_NEWLINE = "\\ No newline at end of file"
_ABSENT = "/dev/null"


class PatchHunk(Frozen):
    """Consecutive lines before and after, with the number of the first old line."""

    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]


class FilePatch(Frozen):
    """The part of a patch for one file."""

    path: str
    creates: bool
    hunks: tuple[PatchHunk, ...]


def read_patch(patch: bytes, read: Read) -> tuple[FileEdit, ...]:
    """Return the edits of a patch.

    Args:
        patch: A unified diff in git's format.
        read: Returns the current content of a path, None if there is none.

    Raises:
        ChangeRejected: The patch is malformed, does not match, or does more than change and create
            plain text files.
            Deletions, renames, modes, links, submodules and binary content are refused.
    """
    return tuple(
        FileEdit(path=file.path, mode="100644", content=_apply_patch(file, read(file.path)))
        for file in parse_patch(patch)
    )


def parse_patch(patch: bytes) -> tuple[FilePatch, ...]:
    """Return the parts of a patch, each file once, without applying it.

    Raises:
        ChangeRejected: The patch is malformed, or does more than change and create text files.
    """
    if len(patch) > MAX_PATCH_BYTES:
        raise ChangeRejected(f"the patch is larger than {MAX_PATCH_BYTES} bytes")
    try:
        text = patch.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ChangeRejected("the patch is not UTF-8 text") from error
    if "\0" in text:
        raise ChangeRejected("the patch is binary")
    files: dict[str, FilePatch] = {}
    for file in _Parser(text.split("\n")).files():
        # Two parts for one file could each match and together do something else.
        if file.path in files:
            raise ChangeRejected(f"the patch names {show(file.path)} twice")
        files[file.path] = file
    return tuple(files.values())


class _Parser:
    """Single-pass parser of the lines."""

    def __init__(self, lines: list[str]) -> None:
        if lines and lines[-1] == "":
            lines.pop()
        self._lines = lines
        self._at = 0

    def files(self) -> list[FilePatch]:
        found: list[FilePatch] = []
        while self._at < len(self._lines):
            if len(found) >= MAX_PATCH_FILES:
                raise ChangeRejected(f"the patch changes more than {MAX_PATCH_FILES} files")
            found.append(self._file())
        if not found:
            raise ChangeRejected("the patch is empty")
        return found

    def _peek(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _take(self) -> str:
        line = self._peek()
        if line is None:
            raise ChangeRejected("the patch is truncated")
        self._at += 1
        return line

    def _file(self) -> FilePatch:
        named = None
        says_new = False
        line = self._peek() or ""
        if line.startswith("diff "):
            match = _GIT.match(self._take())
            if match is None or match["old"] != match["new"]:
                raise ChangeRejected("a file header is malformed, or renames a file")
            named = match["new"]
            says_new = self._extended_header()
        old, new = self._name("--- "), self._name("+++ ")
        path = _side(new, "b/")
        if path is None:
            raise ChangeRejected("the patch deletes a file")
        check_path(path)
        if (named is not None and named != path) or _side(old, "a/") not in {None, path}:
            raise ChangeRejected(f"the headers of one file name different files: {show(path)}")
        creates = old == _ABSENT
        # A reader of the patch must see the same as what is applied.
        if says_new and not creates:
            raise ChangeRejected(f"the headers of {show(path)} contradict each other")
        hunks = tuple(self._hunks())
        if not hunks:
            raise ChangeRejected(f"the patch changes nothing in {show(path)}")
        return FilePatch(path=path, creates=creates, hunks=hunks)

    def _extended_header(self) -> bool:
        """Skip the lines between `diff --git` and `---`.

        Return True if they announce a new file.
        """
        says_new = False
        while (line := self._peek()) is not None and not line.startswith("--- "):
            if line == "new file mode 100644":
                says_new = True
            elif not _INDEX.match(line):
                raise ChangeRejected(f"the patch does more than change text: {show(line)}")
            self._at += 1
        return says_new

    def _name(self, prefix: str) -> str:
        line = self._take()
        if not line.startswith(prefix):
            raise ChangeRejected(f"a file header is malformed: {show(line)}")
        return line[len(prefix) :].split("\t", 1)[0]

    def _hunks(self) -> Iterator[PatchHunk]:
        while (line := self._peek()) is not None and line.startswith("@@"):
            match = _HUNK.match(self._take())
            if match is None:
                raise ChangeRejected(f"a hunk header is malformed: {show(line)}")
            start, old_count, _, new_count = match.groups()
            yield self._hunk(int(start), _count(old_count), _count(new_count))

    def _hunk(self, start: int, old_count: int, new_count: int) -> PatchHunk:
        old: list[str] = []
        new: list[str] = []
        while len(old) < old_count or len(new) < new_count:
            line = self._take()
            kind, content = line[:1], line[1:] + "\n"
            if kind == "\\":
                self._cut_newline(line, old, new)
                continue
            if kind not in {" ", "-", "+"}:
                raise ChangeRejected("a hunk is shorter than its header says")
            if kind in {" ", "-"}:
                old.append(content)
            if kind in {" ", "+"}:
                new.append(content)
        while (line := self._peek() or "").startswith("\\"):
            self._at += 1
            self._cut_newline(line, old, new)
        if len(old) != old_count or len(new) != new_count:
            raise ChangeRejected("a hunk is not as long as its header says")
        following = self._peek()
        if following is not None and not following.startswith(("@@", "diff ", "--- ")):
            raise ChangeRejected("a hunk is longer than its header says")
        return PatchHunk(start=start, old=tuple(old), new=tuple(new))

    def _cut_newline(self, line: str, old: list[str], new: list[str]) -> None:
        """Remove the newline of the previous line, on the side (or sides) it belongs to."""
        if line != _NO_NEWLINE:
            raise ChangeRejected("a hunk contains a line that is not part of a diff")
        # The marker is already taken, so its line is the one before the current.
        kind = self._lines[self._at - 2][:1]
        if kind in {" ", "-"} and old:
            old[-1] = old[-1].removesuffix("\n")
        if kind in {" ", "+"} and new:
            new[-1] = new[-1].removesuffix("\n")


def _count(text: str | None) -> int:
    return 1 if text is None else int(text)


def _side(name: str, prefix: str) -> str | None:
    """Return the path of one side; None if the file does not exist there."""
    if name == _ABSENT:
        return None
    if not name.startswith(prefix):
        raise ChangeRejected(f"a file name lacks its prefix: {show(name)}")
    return name[len(prefix) :]


def _apply_patch(file: FilePatch, present: bytes | None) -> bytes:
    if file.creates:
        if present is not None:
            raise ChangeRejected(f"{show(file.path)} already exists")
        if len(file.hunks) != 1 or file.hunks[0].old:
            raise ChangeRejected(f"a new file cannot have old lines: {show(file.path)}")
        return "".join(file.hunks[0].new).encode("utf-8")
    if present is None:
        raise ChangeRejected(f"{show(file.path)} does not exist")
    try:
        lines = present.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ChangeRejected(f"{show(file.path)} is not UTF-8 text") from error
    # Lines end at `\n` only; splitlines would also split at form feeds and others.
    source = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    result: list[str] = []
    at = 0
    for hunk in file.hunks:
        # A hunk without old lines names the line before the insertion.
        begin = hunk.start - 1 if hunk.old else hunk.start
        # No search for a better place: a hunk that fits elsewhere may change something else.
        if begin < at or tuple(source[begin : begin + len(hunk.old)]) != hunk.old:
            raise ChangeRejected(f"a hunk does not match {show(file.path)} at line {hunk.start}")
        result += source[at:begin] + list(hunk.new)
        at = begin + len(hunk.old)
    return "".join(result + source[at:]).encode("utf-8")
