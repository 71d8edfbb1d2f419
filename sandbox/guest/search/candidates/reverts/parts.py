"""A hunk of the diff taken apart: as a whole, by its lines, by the words of a changed line."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.source.render import Edit, Source

MOST_LINES = 60
"""Of a hunk that is taken apart."""
ALIKE = 0.55
"""How alike an old and a new line must be to count as one line that was changed."""
WORDS = re.compile(rb"\w+|\s+|[^\w\s]")
MOST_WORDS = 8
"""Changed places of one line; a line that changed in more places was written anew."""

WHOLE, LINE, WORD = "hunk", "line", "part"


class Part(NamedTuple):
    """Something that can be undone by itself."""

    path: str
    kind: str
    first: int
    """Lines of the file as it is, from first to last; where lines only went, the line before which they stood."""
    last: int
    edit: Edit

    @property
    def lines(self) -> range:
        """The lines it is about."""
        return range(self.first, self.last + 1)


def starts_of(data: bytes) -> List[int]:
    """Where the lines of a file begin, and behind the last one its end."""
    starts = [0]
    for line in data.split(b"\n"):
        starts.append(min(starts[-1] + len(line) + 1, len(data)))
    return starts


def whole_of(hunk: Mapping[str, Any], source: Source) -> Optional[Part]:
    """A hunk as one part; None when it does not fit the file."""
    line, count, before = int(hunk["line"]), int(hunk["lines"]), str(hunk["before"])
    starts = starts_of(source.data)
    if line < 1 or count < 0 or line - 1 + count >= len(starts):
        return None
    start, end = starts[line - 1], starts[line - 1 + count]
    if source.data[start:end] == before.encode("utf-8"):
        return None
    return Part(source.path, WHOLE, line, max(line, line + count - 1), Edit(start, end, before))


def parts_of(hunk: Mapping[str, Any], source: Source) -> List[Part]:
    """A hunk, then its lines (when it has several), then the words of lines that were changed."""
    whole = whole_of(hunk, source)
    if whole is None:
        return []
    lines = list(_lines_of(whole, source))
    words = [part for line in lines for part in _words_of(line, source)]
    return [whole, *(lines if len(lines) > 1 else []), *words]


def atoms_of(hunk: Mapping[str, Any], source: Source) -> List[Part]:
    """The lines of a hunk, or the hunk itself."""
    whole = whole_of(hunk, source)
    return [] if whole is None else list(_lines_of(whole, source)) or [whole]


def _lines_of(whole: Part, source: Source) -> Iterator[Part]:
    """Old lines beside the new ones they became; lines that only came or only went."""
    start, end, before = whole.edit
    old = before.encode("utf-8").splitlines(keepends=True)
    new = source.data[start:end].splitlines(keepends=True)
    if not old or not new or len(old) > MOST_LINES or len(new) > MOST_LINES:
        return
    at = [start]
    for line in new:
        at.append(at[-1] + len(line))
    for one, two in _aligned(old, new):
        text = b"".join(old[one[0] : one[1]]).decode("utf-8")
        edit = Edit(at[two[0]], at[two[1]], text)
        if source.data[edit.start : edit.end] != text.encode("utf-8"):
            first = whole.first + two[0]
            yield Part(whole.path, LINE, first, max(first, whole.first + two[1] - 1), edit)


Span = Tuple[int, int]


def _aligned(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Tuple[Span, Span]]:
    """Pairs of alike lines, in order, and between them what came and what went."""
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
    """The alignment of the most alike lines."""
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
    if 2 * min(len(left), len(right)) < ALIKE * (len(left) + len(right)):
        return 0.0
    return SequenceMatcher(None, WORDS.findall(left), WORDS.findall(right), autojunk=False).ratio()


def _words_of(line: Part, source: Source) -> Iterator[Part]:
    """The places in which a changed line differs, when there is more than one, or it is less than the line."""
    start, end, before = line.edit
    new, old = source.data[start:end], before.encode("utf-8")
    if line.first != line.last or old.count(b"\n") > 1 or not old.strip() or not new.strip():
        return
    one, two = WORDS.findall(old), WORDS.findall(new)
    at = [start]
    for word in two:
        at.append(at[-1] + len(word))
    codes = [c for c in SequenceMatcher(None, one, two, autojunk=False).get_opcodes() if c[0] != "equal"]
    if not 1 <= len(codes) <= MOST_WORDS:
        return
    for _, left, right, first, last in codes:
        text = b"".join(one[left:right]).decode("utf-8")
        if (text.strip() or source.data[at[first] : at[last]].strip()) and (first, last) != (0, len(two)):
            yield Part(line.path, WORD, line.first, line.last, Edit(at[first], at[last], text))
