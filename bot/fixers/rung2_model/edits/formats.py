"""Parse the apply_patch envelope and unified diffs as blocks, without their line numbers."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from bot.fixers.rung2_model.edits.labels import Fence, find_fences
from bot.fixers.rung2_model.edits.parse import MAX_BLOCKS, Block, Parsed, too_many
from bot.fixers.rung2_model.edits.values import EditFormat, Reason, Rejection
from sandbox.types import Frozen

_SECTION = re.compile(
    r"^\*\*\* (?P<kind>Update File|Add File|Delete File|Move to): (?P<path>.{0,399}\S)[ \t]{0,20}$"
)
_END = re.compile(r"^\*\*\* End Patch[ \t]*$")
_RANGES = re.compile(r"^@@ -\d{1,9}(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@(?P<heading>.{0,300})$")
_UNWANTED = re.compile(
    r"^(?:deleted file mode|(?:rename|copy) (?:from|to)|(?:old|new) mode|GIT binary patch)\b"
)
_NEXT_FILE = re.compile(r"^(?:diff --git |Index: )")
_CHANGE = re.compile(r"^(?:\+|@@|-(?! ?\w))")
_NAMES = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
_DIFF_LANGUAGES = frozenset({"diff", "patch", "udiff"})
_ABSENT = "/dev/null"


class _Hunk(Frozen):
    heading: str = ""
    firm: bool = False
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


class _Bad(Exception):
    """A line that is not part of a diff."""


def is_apply_patch(lines: Sequence[str]) -> bool:
    """Return True if an answer contains an apply_patch envelope."""
    return any(_SECTION.match(line) for line in lines)


def apply_patch(lines: Sequence[str], *, truncated: bool) -> Parsed:
    """Convert the hunks of an apply_patch envelope to blocks.

    Args:
        lines: Lines of the answer.
        truncated: True if the answer was cut off; an unclosed envelope is then rejected.
    """
    gathered = _Gathered(EditFormat.APPLY_PATCH)
    starts = [index for index, line in enumerate(lines) if _SECTION.match(line)]
    if len(starts) > MAX_BLOCKS:
        return too_many(EditFormat.APPLY_PATCH)
    for start, following in pairwise([*starts, len(lines)]):
        end = next((i for i in range(start + 1, following) if _END.match(lines[i])), None)
        section = _SECTION.match(lines[start])
        if section is None:
            continue
        stop = following if end is None else end
        if end is None and following == len(lines) and truncated:
            gathered.reject(
                Reason.MALFORMED, section["path"], "the answer was cut off before `*** End Patch`"
            )
        elif section["kind"] in {"Delete File", "Move to"}:
            gathered.reject(Reason.DELETES, section["path"], "files are not deleted or moved")
        else:
            gathered.add(
                section["path"],
                _strip_wrapper(lines[start + 1 : stop]),
                creates=section["kind"] == "Add File",
            )
    return gathered.parsed()


def _strip_wrapper(lines: Sequence[str]) -> Sequence[str]:
    """Return a section's lines without the closing fence or shell word around the envelope."""
    body = [line for line in lines if line.rstrip() != "*** End of File"]
    while body and body[-1] in {"", "```", "EOF", "PATCH", "*** Begin Patch"}:
        body.pop()
    return body


def is_unified_diff(lines: Sequence[str], known: Collection[str]) -> bool:
    """Return True if an answer contains a unified diff, with headers or in a diff fence."""
    return any(True for _ in _headers(lines)) or any(
        f.language in _DIFF_LANGUAGES for f in find_fences(lines, known)
    )


def unified_diff(lines: Sequence[str], known: Collection[str], *, truncated: bool) -> Parsed:
    """Convert the hunks of unified diffs to blocks.

    Args:
        lines: Lines of the answer.
        known: Paths that were sent.
        truncated: True if the answer was cut off; a diff that reaches its end is then rejected.
    """
    gathered = _Gathered(EditFormat.UNIFIED_DIFF)
    fences = find_fences(lines, known)
    for line in _extend(lines):
        if _UNWANTED.match(line):
            gathered.reject(Reason.DELETES, "", f"`{line[:60]}`: only text edits are allowed")
    starts = list(_headers(lines))
    if len(starts) > MAX_BLOCKS:
        return too_many(EditFormat.UNIFIED_DIFF)
    for start, following in pairwise([*starts, len(lines)]):
        fence = next((fence for fence in fences if fence.first < start <= fence.last), None)
        stop = (
            following
            if fence is None
            else min(following, fence.last if fence.closed else len(lines))
        )
        old, new = _named(lines[start], "a/", known), _named(lines[start + 1], "b/", known)
        if truncated and stop == len(lines):
            gathered.reject(
                Reason.MALFORMED, new, "the answer was cut off in the middle of the diff"
            )
        elif new == _ABSENT:
            gathered.reject(Reason.DELETES, old, "files are not deleted")
        elif old not in {new, _ABSENT}:
            gathered.reject(
                Reason.DELETES, old, "files are not renamed: the headers name two files"
            )
        else:
            gathered.add(
                new,
                _until_prose(lines[start + 2 : stop], fenced=fence is not None),
                creates=old == _ABSENT,
            )
    if not starts:
        for fence in (fence for fence in fences if fence.language in _DIFF_LANGUAGES):
            _headless(fence, gathered, truncated=truncated)
    return gathered.parsed()


def _headless(fence: Fence, gathered: "_Gathered", *, truncated: bool) -> None:
    """Add a diff fence without headers; only the label above it names the file."""
    if truncated and not fence.closed:
        gathered.reject(
            Reason.MALFORMED, fence.label.path, "the answer was cut off in the middle of the diff"
        )
    else:
        gathered.add(fence.label.path, fence.lines, creates=False)


def _headers(lines: Sequence[str]) -> Iterator[int]:
    for index in range(len(lines) - 1):
        if lines[index].startswith("--- ") and lines[index + 1].startswith("+++ "):
            yield index


def _named(line: str, prefix: str, known: Collection[str]) -> str:
    name = line[4:].split("\t", 1)[0].strip().strip('"')
    return name if name in known else name.removeprefix(prefix)


def _extend(lines: Sequence[str]) -> Iterator[str]:
    """Yield git's extended header lines between `diff --git` and the file names."""
    inside = False
    for line in lines:
        inside = line.startswith("diff --git ") or (
            inside and not line.startswith(("--- ", "@@")) and line != ""
        )
        if inside:
            yield line


def _until_prose(lines: Sequence[str], *, fenced: bool) -> Sequence[str]:
    """Return a diff's own lines.

    Outside a fence it ends at a blank line followed by prose, if no change follows.
    """
    end = next((i for i, line in enumerate(lines) if _NEXT_FILE.match(line)), len(lines))
    if not fenced:
        prose = (
            i for i in range(1, end) if lines[i - 1] == "" and lines[i][:1] not in {*" +-@\\", ""}
        )
        start = next(prose, end)
        if not any(_CHANGE.match(line) for line in lines[start:end]):
            end = start
    # Trailing blank lines belong to the answer, not to the diff.
    while end and lines[end - 1] == "":
        end -= 1
    return lines[:end]


class _Gathered:
    """Blocks and rejections of one answer, with common numbering."""

    def __init__(self, form: EditFormat) -> None:
        self._format = form
        self._blocks: list[Block] = []
        self._rejections: list[Rejection] = []

    def reject(self, reason: Reason, path: str, message: str) -> None:
        self._rejections.append(
            Rejection(reason=reason, path=path, block=self._next(), message=message)
        )

    def add(self, path: str, body: Sequence[str], *, creates: bool) -> None:
        """Add the hunks of one file."""
        try:
            hunks = _create(body) if creates else _hunks(body)
        except _Bad as bad:
            self.reject(Reason.MALFORMED, path, str(bad))
            return
        if not hunks:
            self.reject(Reason.MALFORMED, path, "it has no hunk")
        self._blocks += [
            Block(
                number=self._next() + offset,
                path=path,
                search=hunk.old,
                replace=hunk.new,
                anchor=hunk.heading,
                firm=hunk.firm,
                creates=creates,
            )
            for offset, hunk in enumerate(hunks)
        ]

    def parsed(self) -> Parsed:
        return Parsed(
            format=self._format, blocks=tuple(self._blocks), rejections=tuple(self._rejections)
        )

    def _next(self) -> int:
        return len(self._blocks) + len(self._rejections) + 1


def _create(body: Sequence[str]) -> list[_Hunk]:
    lines = [line for line in body if not line.startswith(("@@", "\\"))]
    wrong = next((line for line in lines if not line.startswith("+")), None)
    if wrong is not None:
        raise _Bad(f"a new file has only lines with `+`, not `{wrong[:60]}`")
    return [_Hunk(new=tuple(line[1:] for line in lines))]


def _hunks(body: Sequence[str]) -> list[_Hunk]:
    """Split lines at `@@`; lines before the first form a hunk without a heading.

    Raises:
        _Bad: A line is neither context nor change.
    """
    found: list[_Hunk] = []
    names: list[str] = []
    firm = False
    lines: list[str] = []
    for line in [*body, "@@"]:
        if not line.startswith("@@"):
            lines.append(line)
            continue
        if lines:
            found.append(_hunk(lines, ".".join(names), firm=firm))
            names, lines = [], []
        ranges = _RANGES.match(line)
        # Headings after line ranges come from the diff format, not from the model.
        firm = ranges is None
        heading = line[2:].removesuffix("@@") if ranges is None else ranges["heading"]
        # Consecutive anchors nest: first the class, then the method.
        names += [name] if (name := _short(heading.strip())) else []
    return [hunk for hunk in found if hunk.old != hunk.new]


def _short(heading: str) -> str:
    """Return the name in `class A:` or `def f(x):`; any other heading unchanged."""
    match = _NAMES.match(heading)
    return match[1] if match is not None else heading


def _hunk(lines: Sequence[str], heading: str, *, firm: bool) -> _Hunk:
    old: list[str] = []
    new: list[str] = []
    for line in lines:
        kind, text = line[:1], line[1:]
        if kind == "\\":
            continue
        if kind not in {"", " ", "-", "+"}:
            raise _Bad(f"every line of a hunk begins with a space, `+` or `-`, not `{line[:60]}`")
        if kind != "+":
            old.append(text)
        if kind != "-":
            new.append(text)
    return _Hunk(heading=heading, firm=firm, old=tuple(old), new=tuple(new))
