"""Where the text of a block stands in a file: four levels of likeness, and no guessing by distance."""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from bot.fixers.rung2_model.edits.lines import plain
from bot.fixers.rung2_model.edits.values import MAX_SHOWN, Window
from sandbox.types import Frozen

EXACT, TRAILING, SHIFTED, PUNCTUATION = range(1, 5)
Span = tuple[int, int]
"""Lines from..to (from 0, half open)."""
_MOST_WINDOWS = 12
_MOST_CHARACTERS = 600
_MOST_WORDS = 300
_MOST_LINES = 30_000
_MOST_SEARCHED = 200


class Place(Frozen):
    """Where a block's text stands."""

    start: int
    level: int
    shift: int = 0
    """Columns the file is further in than the block; below 0, further out."""
    indent: str = " "
    """The one character its indentation is made of."""


def places(bodies: Sequence[str], searched: Sequence[str], spans: Sequence[Span], levels: Sequence[int]) -> list[Place]:
    """Every place at the first level that has any.

    Args:
        bodies: The file's lines, without their ends.
        searched: The block's lines.
        spans: Where to look; a place lies in one of them as a whole.
        levels: Which levels to try, in this order.
    """
    for level in levels:
        found = list(_at_level(bodies, searched, spans, level))
        if found:
            return found
    return []


def _at_level(bodies: Sequence[str], searched: Sequence[str], spans: Sequence[Span], level: int) -> Iterator[Place]:
    wanted = [_form(line, level) for line in searched]
    present = [_form(line, level) for line in bodies]
    size = len(wanted)
    for low, high in spans:
        for start in range(low, high - size + 1):
            if present[start] != wanted[0] or present[start : start + size] != wanted:
                continue
            if level < SHIFTED:
                yield Place(start=start, level=level)
            elif (shift := _shift(bodies[start : start + size], searched)) is not None:
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


def nearest(path: str, bodies: Sequence[str], searched: Sequence[str], spans: Sequence[Span]) -> tuple[Window, ...]:
    """The three windows most like a text that was not found; bounded work.

    Args:
        path: Of the file.
        bodies: Its lines.
        searched: What was looked for.
        spans: Where to look.
    """
    wanted = [line.strip() for line in searched[:_MOST_SEARCHED]]
    size = len(wanted)
    words = Counter(word for line in wanted for word in _words(line))
    scored = []
    for low, high in spans:
        counts = [Counter(_words(line)) & words for line in bodies[low : min(high, low + _MOST_LINES)]]
        rough = [sum(count.values()) for count in counts]
        scored += [(sum(rough[i : i + size]), low + i) for i in range(max(len(rough) - size + 1, min(len(rough), 1)))]
    best = sorted(scored, key=lambda each: (-each[0], each[1]))[:_MOST_WINDOWS]
    ranked = sorted(
        ((_likeness([line.strip() for line in bodies[at : at + size]], wanted), at) for _, at in best),
        key=lambda each: (-each[0], each[1]),
    )
    chosen: list[int] = []
    for ratio, at in ranked:
        if ratio > 0 and all(abs(at - other) >= size for other in chosen):
            chosen.append(at)
    return tuple(window(path, bodies, at, size) for at in chosen[:3])


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
