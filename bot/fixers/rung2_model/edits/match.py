"""Match the text of a block in a file at four levels of similarity; never guess by distance."""

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
"""Lines from 0, half open."""
_MOST_WINDOWS = 12
_MOST_CHARACTERS = 600
_MOST_WORDS = 300
_MOST_TRIED = 2_000
MOST_PLACES = 20
"""Maximum number of places counted for one text."""
_MOST_SEARCHED = 200


class TextMatch(Frozen):
    """A match of a block's text."""

    start: int
    level: int
    shift: int = 0
    """Columns that the file is indented further than the block; negative if less."""
    indent: str = " "
    """The only character its indentation uses."""


class Haystack:
    """A file's lines, prepared for repeated searches.

    Args:
        bodies: Lines without line ends.
    """

    def __init__(self, bodies: Sequence[str]) -> None:
        self.bodies = bodies
        self._joined: dict[int, tuple[str, list[int]]] = {}

    def starts(self, searched: Sequence[str], span: Span, level: int) -> Iterator[int]:
        """Yield the lines within a span at which a text begins, compared at a level."""
        joined, offsets = self._at(level)
        low, high = offsets[span[0]], offsets[max(span)] + 1
        # Line breaks on both sides make str.find() match whole lines only.
        wanted = "\n".join(["", *(_form(line, level) for line in searched), ""])
        at = joined.find(wanted, low, high)
        while at >= 0:
            yield bisect_left(offsets, at)
            at = joined.find(wanted, at + 1, high)

    @cached_property
    def lines_with(self) -> dict[str, list[int]]:
        """Return the line numbers of each word."""
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


def places(
    hay: Haystack, searched: Sequence[str], spans: Sequence[Span], levels: Sequence[int]
) -> list[TextMatch]:
    """Return the matches at the first level that has any, up to `MOST_PLACES`.

    Args:
        hay: The file.
        searched: The block's lines.
        spans: Spans to search; a match lies entirely within one.
        levels: The levels to try, in order.
    """
    for level in levels:
        found = list(islice(_at_level(hay, searched, spans, level), MOST_PLACES))
        if found:
            return found
    return []


def _at_level(
    hay: Haystack, searched: Sequence[str], spans: Sequence[Span], level: int
) -> Iterator[TextMatch]:
    for span in spans:
        for start in islice(hay.starts(searched, span, level), _MOST_TRIED):
            if level < SHIFTED:
                yield TextMatch(start=start, level=level)
            elif (shift := _shift(hay.bodies[start : start + len(searched)], searched)) is not None:
                yield TextMatch(start=start, level=level, shift=shift[0], indent=shift[1])


def _form(line: str, level: int) -> str:
    """Normalize a line for comparison at a level."""
    if level == EXACT:
        return line
    text = plain(line) if level == PUNCTUATION else line
    return text.rstrip() if level == TRAILING else text.strip(" \t").rstrip()


def indentation(line: str) -> str:
    """Return the leading blanks and tabs of a line."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def _shift(bodies: Sequence[str], searched: Sequence[str]) -> tuple[int, str] | None:
    """Return the indentation difference of all lines.

    Return None if it varies, or if blanks and tabs are mixed.
    """
    pairs = [
        (indentation(b), indentation(s)) for b, s in zip(bodies, searched, strict=True) if s.strip()
    ]
    kinds = {character for pair in pairs for text in pair for character in text}
    shifts = {len(body) - len(search) for body, search in pairs}
    if len(shifts) != 1 or len(kinds) > 1:
        return None
    return shifts.pop(), kinds.pop() if kinds else " "


def shifted(lines: Sequence[str], place: TextMatch) -> tuple[str, ...] | None:
    """Shift a block's new lines to the file's indentation.

    Return None if they are not indented enough, or if blanks and tabs are mixed.
    """
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


def nearest(
    path: str, hay: Haystack, searched: Sequence[str], spans: Sequence[Span]
) -> tuple[Window, ...]:
    """Return up to three windows most similar to a text without a match.

    Limits on words and windows bound the work.

    Args:
        path: Path of the file.
        hay: The file.
        searched: The text without a match.
        spans: Spans to search.
    """
    wanted = [line.strip() for line in searched[:_MOST_SEARCHED]]
    size, count = len(wanted), len(hay.bodies)
    rough = [0] * count
    for word in list(dict.fromkeys(word for line in wanted for word in _words(line)))[:_MOST_WORDS]:
        for number in hay.lines_with.get(word, ()):
            rough[number] += 1
    sums = list(accumulate(rough, initial=0))
    starts = (
        at for low, high in spans for at in range(low, max(high - size, low) + 1) if at < count
    )
    # Word counts select a few windows; only these are compared in detail.
    best = nsmallest(
        _MOST_WINDOWS, starts, key=lambda at: (sums[at] - sums[min(at + size, count)], at)
    )
    ranked = sorted(
        (
            (_likeness([line.strip() for line in hay.bodies[at : at + size]], wanted), at)
            for at in best
        ),
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
    """Compare short texts by character and long ones by word, to bound the time on hostile text."""
    ours, theirs = "\n".join(lines), "\n".join(wanted)
    if len(ours) + len(theirs) <= _MOST_CHARACTERS:
        # autojunk would ignore frequent items in long texts.
        return SequenceMatcher(None, ours, theirs, autojunk=False).ratio()
    return SequenceMatcher(
        None, _words(ours)[:_MOST_WORDS], _words(theirs)[:_MOST_WORDS], autojunk=False
    ).ratio()


def window(path: str, bodies: Sequence[str], at: int, size: int) -> Window:
    """Return lines of a file for display; long lines are cut."""
    shown = bodies[at : at + min(size, _MOST_SEARCHED)] or ("",)
    return Window(path=path, first=at + 1, text="\n".join(line[:MAX_SHOWN] for line in shown))
