"""Where the text of a block stands in a file: four levels of likeness, and no guessing by distance."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from heapq import nsmallest
from itertools import accumulate, islice

from bot.fixers.rung2_model.edits.lines import plain
from bot.fixers.rung2_model.edits.values import MAX_SHOWN, Window
from sandbox.types import Frozen

EXACT, TRAILING, SHIFTED, PUNCTUATION = range(1, 5)
Span = tuple[int, int]
"""Lines from..to (from 0, half open)."""
_MOST_WINDOWS = 12
_MOST_CHARACTERS = 600
_MOST_WORDS = 300
_MOST_TRIED = 2_000
MOST_PLACES = 20
"""As many places of one text as are counted."""
_MOST_SEARCHED = 200


class Place(Frozen):
    """Where a block's text stands."""

    start: int
    level: int
    shift: int = 0
    """Columns the file is further in than the block; below 0, further out."""
    indent: str = " "
    """The one character its indentation is made of."""


class Haystack:
    """A file's lines, to be searched many times.

    Args:
        bodies: Without their ends.
    """

    def __init__(self, bodies: Sequence[str]) -> None:
        self.bodies = bodies
        self._joined: dict[int, tuple[str, list[int]]] = {}

    def starts(self, searched: Sequence[str], span: Span, level: int) -> Iterator[int]:
        """The lines at which a text begins within a span, as a level compares it."""
        joined, offsets = self._at(level)
        low, high = offsets[span[0]], offsets[max(span)] + 1
        wanted = "\n".join(["", *(_form(line, level) for line in searched), ""])
        at = joined.find(wanted, low, high)
        while at >= 0:
            yield bisect_left(offsets, at)
            at = joined.find(wanted, at + 1, high)

    @cached_property
    def lines_with(self) -> dict[str, list[int]]:
        """The lines a word stands in."""
        found: dict[str, list[int]] = {}
        for number, body in enumerate(self.bodies):
            for word in set(_words(body)):
                found.setdefault(word, []).append(number)
        return found

    def _at(self, level: int) -> tuple[str, list[int]]:
        if level not in self._joined:
            forms = [_form(body, level) for body in self.bodies]
            offsets = list(accumulate((len(form) + 1 for form in forms), initial=0))
            self._joined[level] = ("\n".join(["", *forms, ""]), offsets)
        return self._joined[level]


def places(hay: Haystack, searched: Sequence[str], spans: Sequence[Span], levels: Sequence[int]) -> list[Place]:
    """The places at the first level that has any, up to a bound far above one.

    Args:
        hay: The file.
        searched: The block's lines.
        spans: Where to look; a place lies in one of them as a whole.
        levels: Which levels to try, in this order.
    """
    for level in levels:
        found = list(islice(_at_level(hay, searched, spans, level), MOST_PLACES))
        if found:
            return found
    return []


def _at_level(hay: Haystack, searched: Sequence[str], spans: Sequence[Span], level: int) -> Iterator[Place]:
    for span in spans:
        for start in islice(hay.starts(searched, span, level), _MOST_TRIED):
            if level < SHIFTED:
                yield Place(start=start, level=level)
            elif (shift := _shift(hay.bodies[start : start + len(searched)], searched)) is not None:
                yield Place(start=start, level=level, shift=shift[0], indent=shift[1])


def _form(line: str, level: int) -> str:
    """A line as a level compares it."""
    if level == EXACT:
        return line
    text = plain(line) if level == PUNCTUATION else line
    return text.rstrip() if level == TRAILING else text.strip(" \t").rstrip()


def indentation(line: str) -> str:
    """The blanks and tabs a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def _shift(bodies: Sequence[str], searched: Sequence[str]) -> tuple[int, str] | None:
    """How much further in the file is, the same for all lines; None where it differs, or blanks and tabs mix."""
    pairs = [(indentation(b), indentation(s)) for b, s in zip(bodies, searched, strict=True) if s.strip()]
    kinds = {character for pair in pairs for text in pair for character in text}
    shifts = {len(body) - len(search) for body, search in pairs}
    if len(shifts) != 1 or len(kinds) > 1:
        return None
    return shifts.pop(), kinds.pop() if kinds else " "


def shifted(lines: Sequence[str], place: Place) -> tuple[str, ...] | None:
    """A block's new lines as far in as the file is; None where they are not in far enough, or blanks and tabs mix."""
    if place.level < SHIFTED or (place.shift == 0 and place.level == PUNCTUATION):
        return tuple(lines)
    moved = []
    for line in lines:
        if not line.strip():
            moved.append("")
            continue
        lead = indentation(line)
        if set(lead) - {place.indent} or len(lead) + place.shift < 0:
            return None
        moved.append(place.indent * place.shift + line if place.shift > 0 else line[-place.shift :])
    return tuple(moved)


def nearest(path: str, hay: Haystack, searched: Sequence[str], spans: Sequence[Span]) -> tuple[Window, ...]:
    """The three windows most like a text that was not found; bounded work.

    Args:
        path: Of the file.
        hay: The file.
        searched: What was looked for.
        spans: Where to look.
    """
    wanted = [line.strip() for line in searched[:_MOST_SEARCHED]]
    size, count = len(wanted), len(hay.bodies)
    rough = [0] * count
    for word in list(dict.fromkeys(word for line in wanted for word in _words(line)))[:_MOST_WORDS]:
        for number in hay.lines_with.get(word, ()):
            rough[number] += 1
    sums = list(accumulate(rough, initial=0))
    starts = (at for low, high in spans for at in range(low, max(high - size, low) + 1) if at < count)
    best = nsmallest(_MOST_WINDOWS, starts, key=lambda at: (sums[at] - sums[min(at + size, count)], at))
    ranked = sorted(
        ((_likeness([line.strip() for line in hay.bodies[at : at + size]], wanted), at) for at in best),
        key=lambda each: (-each[0], each[1]),
    )
    chosen: list[int] = []
    for ratio, at in ranked:
        if ratio > 0 and all(abs(at - other) >= size for other in chosen):
            chosen.append(at)
    return tuple(window(path, hay.bodies, at, size) for at in chosen[:3])


def _words(line: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in line[:8_000]).split()


def _likeness(lines: Sequence[str], wanted: Sequence[str]) -> float:
    """Short texts by character, long ones by word: repository text must not make this slow."""
    ours, theirs = "\n".join(lines), "\n".join(wanted)
    if len(ours) + len(theirs) <= _MOST_CHARACTERS:
        return SequenceMatcher(None, ours, theirs, autojunk=False).ratio()
    return SequenceMatcher(None, _words(ours)[:_MOST_WORDS], _words(theirs)[:_MOST_WORDS], autojunk=False).ratio()


def window(path: str, bodies: Sequence[str], at: int, size: int) -> Window:
    """Lines of a file to be shown; long ones cut."""
    shown = bodies[at : at + min(size, _MOST_SEARCHED)] or ("",)
    return Window(path=path, first=at + 1, text="\n".join(line[:MAX_SHOWN] for line in shown))
