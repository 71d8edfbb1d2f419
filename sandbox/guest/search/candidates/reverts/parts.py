"""Split a hunk of the diff into lines, and changed lines into words."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.source.render import SourceFile, TextEdit

MAX_LINES = 60
"""Maximum lines of a hunk to split."""
ALIKE = 0.55
"""Minimum similarity (0 to 1) of an old and a new line to count as one changed line."""
WORDS = re.compile(rb"\w+|\s+|[^\w\s]")
MAX_WORDS = 8
"""Maximum changed places of one line; with more, the line counts as rewritten."""

WHOLE, LINE, WORD = "hunk", "line", "part"


class DiffPart(NamedTuple):
    """A part of the diff that can be reverted on its own."""

    path: str
    kind: str
    first: int
    """First line in the current file; for removed lines, the line they preceded."""
    last: int
    edit: TextEdit

    @property
    def lines(self) -> range:
        """Return the affected lines."""
        return range(self.first, self.last + 1)


def line_starts(data: bytes) -> List[int]:
    """Return the offset of every line, and of the end of the file."""
    starts = [0]
    for line in data.split(b"\n"):
        starts.append(min(starts[-1] + len(line) + 1, len(data)))
    return starts


def hunk_part(hunk: Mapping[str, Any], source: SourceFile) -> Optional[DiffPart]:
    """Return a hunk as one part, or None if it does not fit the file."""
    line, count, before = int(hunk["line"]), int(hunk["lines"]), str(hunk["before"])
    starts = line_starts(source.data)
    if line < 1 or count < 0 or line - 1 + count >= len(starts):
        return None
    start, end = starts[line - 1], starts[line - 1 + count]
    if source.data[start:end] == before.encode("utf-8"):
        return None
    return DiffPart(
        source.path, WHOLE, line, max(line, line + count - 1), TextEdit(start, end, before)
    )


def split_hunk(hunk: Mapping[str, Any], source: SourceFile) -> List[DiffPart]:
    """Return a hunk, its lines if there are several, and the words of its changed lines."""
    whole = hunk_part(hunk, source)
    if whole is None:
        return []
    lines = list(_changed_lines(whole, source))
    words = [part for line in lines for part in _changed_words(line, source)]
    return [whole, *(lines if len(lines) > 1 else []), *words]


def hunk_lines(hunk: Mapping[str, Any], source: SourceFile) -> List[DiffPart]:
    """Return the lines of a hunk, or the hunk itself."""
    whole = hunk_part(hunk, source)
    return [] if whole is None else list(_changed_lines(whole, source)) or [whole]


def _changed_lines(whole: DiffPart, source: SourceFile) -> Iterator[DiffPart]:
    """Yield changed, added and removed lines of a hunk."""
    start, end, before = whole.edit
    old = before.encode("utf-8").splitlines(keepends=True)
    new = source.data[start:end].splitlines(keepends=True)
    if not old or not new or len(old) > MAX_LINES or len(new) > MAX_LINES:
        return
    at = [start]
    for line in new:
        at.append(at[-1] + len(line))
    for one, two in _aligned(old, new):
        text = b"".join(old[one[0] : one[1]]).decode("utf-8")
        edit = TextEdit(at[two[0]], at[two[1]], text)
        if source.data[edit.start : edit.end] != text.encode("utf-8"):
            first = whole.first + two[0]
            yield DiffPart(whole.path, LINE, first, max(first, whole.first + two[1] - 1), edit)


Span = Tuple[int, int]


def _aligned(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Tuple[Span, Span]]:
    """Yield spans of corresponding lines, and between them of added and removed lines."""
    one = two = 0
    for left, right in [*_pairs(old, new), (len(old), len(new))]:
        if two < right:
            yield (one, left), (two, right)
        elif one < left:
            yield (one, left), (two, two)
        if left < len(old):
            yield (left, left + 1), (right, right + 1)
        one, two = left + 1, right + 1


def _pairs(old: Sequence[bytes], new: Sequence[bytes]) -> List[Tuple[int, int]]:
    """Return the alignment with the highest total similarity, by dynamic programming."""
    best: Dict[Tuple[int, int], Tuple[float, Tuple[Tuple[int, int], ...]]] = {}
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            options = [best.get((i + 1, j), (0.0, ())), best.get((i, j + 1), (0.0, ()))]
            likeness = _likeness(old[i], new[j])
            if likeness >= ALIKE:
                score, chain = best.get((i + 1, j + 1), (0.0, ()))
                options.append((score + likeness, ((i, j), *chain)))
            best[i, j] = max(options, key=lambda option: option[0])
    return list(best.get((0, 0), (0.0, ()))[1])


def _likeness(one: bytes, two: bytes) -> float:
    left, right = one.strip(), two.strip()
    if not left or not right:
        return 0.0
    # An upper bound of the ratio, from the lengths alone, avoids most comparisons.
    if 2 * min(len(left), len(right)) < ALIKE * (len(left) + len(right)):
        return 0.0
    return SequenceMatcher(None, WORDS.findall(left), WORDS.findall(right), autojunk=False).ratio()


def _changed_words(line: DiffPart, source: SourceFile) -> Iterator[DiffPart]:
    """Yield the differing places of a changed line, unless they cover the whole line."""
    start, end, before = line.edit
    new, old = source.data[start:end], before.encode("utf-8")
    if line.first != line.last or old.count(b"\n") > 1 or not old.strip() or not new.strip():
        return
    one, two = WORDS.findall(old), WORDS.findall(new)
    at = [start]
    for word in two:
        at.append(at[-1] + len(word))
    codes = [
        c for c in SequenceMatcher(None, one, two, autojunk=False).get_opcodes() if c[0] != "equal"
    ]
    if not 1 <= len(codes) <= MAX_WORDS:
        return
    for _, left, right, first, last in codes:
        text = b"".join(one[left:right]).decode("utf-8")
        if (text.strip() or source.data[at[first] : at[last]].strip()) and (first, last) != (
            0,
            len(two),
        ):
            yield DiffPart(
                line.path, WORD, line.first, line.last, TextEdit(at[first], at[last], text)
            )
