"""Convert a diff to review suggestions, if the pull request shows every changed line. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from bot.domain.github import PullRequestFile, Suggestion
from sandbox.types import Frozen

MOST = 20
"""Maximum number of suggestions; a larger change is delivered as a pull request."""

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_PLAIN = re.compile(r"diff --git a/(?P<path>\S+) b/(?P=path)")
_NO_SUGGESTION = ("new file", "deleted file", "old mode", "rename ", "GIT binary", "Binary ")


class Span(Frozen):
    """Replacement of lines start to end of the old file."""

    path: str
    start: int
    end: int
    lines: tuple[str, ...]


class HunkLine(Frozen):
    """A line of a hunk, with its number in the old file."""

    sign: str
    text: str
    number: int


def suggestions_for(
    diff: str, files: Iterable[PullRequestFile], *, why: str = ""
) -> tuple[Suggestion, ...]:
    """Return the diff as suggestions; empty if any part of it cannot be suggested.

    Args:
        diff: A diff against the head of the pull request.
        files: Files of the pull request.
        why: Text of the first suggestion; safe Markdown.
    """
    spans = _spans(diff)
    shown = {file.path: _shown(file.patch) for file in files if file.status != "removed"}
    if spans is None or not 0 < len(spans) <= MOST or _touching(spans):
        return ()
    if any(span.lines == ("",) for span in spans):
        return ()  # GitHub treats one empty line as no line
    if not all(
        any(low <= s.start and s.end <= high for low, high in shown.get(s.path, ())) for s in spans
    ):
        return ()
    return tuple(
        Suggestion(
            path=span.path,
            start_line=span.start,
            end_line=span.end,
            text="\n".join(span.lines),
            why=why if number == 0 else "",
        )
        for number, span in enumerate(spans)
    )


def _shown(patch: str) -> tuple[tuple[int, int], ...]:
    """Return the ranges of new lines in a patch; only these accept comments."""
    found = (_HUNK.match(line) for line in patch.splitlines())
    starts = ((int(hunk[3]), int(hunk[4] or "1")) for hunk in found if hunk)
    return tuple((start, start + length - 1) for start, length in starts if length)


def _touching(spans: Sequence[Span]) -> bool:
    """Return True if two spans share a line, which GitHub does not accept."""
    return any(one.path == other.path and other.start <= one.end for one, other in pairwise(spans))


def _spans(diff: str) -> list[Span] | None:
    """Return every changed span; None if a file is added, deleted or not plain text."""
    spans: list[Span] = []
    # The lookahead keeps the header in its part.
    for part in re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE):
        if not part.strip():
            continue
        header, *lines = part.split("\n")
        named = _PLAIN.fullmatch(header)
        head = [line for line in _until_hunk(lines) if line.startswith(_NO_SUGGESTION)]
        if named is None or head or "\n\\ No newline" in part:
            return None
        for hunk in re.split(r"^(?=@@ )", "\n".join(lines), flags=re.MULTILINE)[1:]:
            found = _hunk_spans(named["path"], hunk)
            if found is None:
                return None
            spans += found
    return spans


def _until_hunk(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith("@@ "):
            return
        yield line


def _hunk_spans(path: str, hunk: str) -> list[Span] | None:
    """Return the changed spans of one hunk; pure additions include an adjacent unchanged line."""
    header, *lines = hunk.removesuffix("\n").split("\n")
    numbers = _HUNK.match(header)
    if numbers is None:
        return None
    numbered = _number(lines, int(numbers[1]))
    runs = [
        (unchanged, list(run))
        for unchanged, run in groupby(numbered, key=lambda line: line.sign == " ")
    ]
    spans: list[Span] = []
    for index, (unchanged, run) in enumerate(runs):
        if unchanged:
            continue
        gone = [line.number for line in run if line.sign == "-"]
        come = tuple(line.text for line in run if line.sign == "+")
        if gone:
            spans.append(Span(path=path, start=gone[0], end=gone[-1], lines=come))
        elif index > 0:
            beside = runs[index - 1][1][-1]
            spans.append(
                Span(path=path, start=beside.number, end=beside.number, lines=(beside.text, *come))
            )
        elif len(runs) > 1:
            beside = runs[1][1][0]
            spans.append(
                Span(path=path, start=beside.number, end=beside.number, lines=(*come, beside.text))
            )
        else:
            return None
    return spans


def _number(lines: Iterable[str], number: int) -> Iterator[HunkLine]:
    for line in lines:
        yield HunkLine(sign=line[:1] or " ", text=line[1:], number=number)
        number += not line.startswith("+")
