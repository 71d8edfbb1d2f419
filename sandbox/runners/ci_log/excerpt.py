"""The lines of a step that say what went wrong, with their headlines and surroundings, within a budget of bytes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sandbox.runners.ci_log.shapes import headlines, shape
from sandbox.runners.printed.error_line import error_lines, hints, is_exit_mark, is_green

BUDGET = 8 * 1024
LINE_BYTES = 600
_GAP = 40
"""Bytes of the line that says how many are left out."""
_ENDS = 4
"""Of the lines of one kind, so many of the first and of the last are sure to be shown."""
_RARE = 2
"""Lines of a shape that occurs more often are the course of the work, not its failure."""


class _Anchor(NamedTuple):
    """A line that is shown with its surroundings."""

    at: int
    before: int
    after: int


def excerpt(lines: Sequence[str], *, budget: int = BUDGET) -> str:
    """Return the whole step where it fits, else the lines around the errors and how many are left out.

    Args:
        lines: Of one step.
        budget: Most bytes.
    """
    chosen = _chosen(lines, range(len(lines)), budget)
    if len(chosen) < len(lines):
        chosen = _chosen(lines, _wanted(lines), budget)
    parts: list[str] = []
    last = -1
    for index in sorted(chosen):
        if index > last + 1:
            parts.append(f"[... {index - last - 1} lines left out ...]")
        parts.append(_short(lines[index]))
        last = index
    if last + 1 < len(lines) and parts:
        parts.append(f"[... {len(lines) - last - 1} lines left out ...]")
    return "\n".join(parts)


def _chosen(lines: Sequence[str], wanted: Iterable[int], budget: int) -> set[int]:
    """Return line numbers, the most telling first, until the budget is spent."""
    chosen: set[int] = set()
    left = budget
    for index in wanted:
        if not 0 <= index < len(lines) or index in chosen:
            continue
        cost = len(_short(lines[index]).encode("utf-8", "replace")) + 1
        if index - 1 not in chosen and index + 1 not in chosen:
            cost += _GAP
        if cost > left:
            if left < LINE_BYTES:
                break
            continue
        chosen.add(index)
        left -= cost
    return chosen


def _wanted(lines: Sequence[str]) -> Iterator[int]:
    """Yield line numbers in the order of their worth."""
    shapes = [shape(line) for line in lines]
    count = Counter(shapes)
    rare = [count[found] <= _RARE for found in shapes]
    errors, strong = error_lines(lines)
    weak = [index for index in errors if not is_exit_mark(lines[index])]
    soft = [index for index, line in enumerate(lines) if rare[index] and hints(line)]
    end = next((index for index in range(len(lines) - 1, -1, -1) if _says(lines[index])), len(lines) - 1)
    sure = _first_of_each(strong, shapes)
    likely = [index for index in _first_of_each(weak, shapes) if rare[index]]
    anchors = [
        *(_Anchor(index, 8, 12) for index in _ends(sure)),
        *(_Anchor(index, 6, 6) for index in _ends(likely)),
        *([_Anchor(end, 16, 1)] if rare[end] or not sure else []),
        *(_Anchor(index, 2, 3) for index in _ends(soft)),
    ]
    yield from (anchor.at for anchor in anchors)
    for anchor in anchors:
        yield from headlines(lines, anchor.at)
    green = [is_green(line) for line in lines]
    yield from (index for index in _around(anchors) if 0 <= index < len(lines) and not green[index])
    yield from (*strong, *likely, *reversed(soft), *weak)
    yield from (index for index in range(len(lines) - 1, -1, -1) if rare[index])


def _around(anchors: Sequence[_Anchor]) -> Iterator[int]:
    """Yield what surrounds the anchors, the nearest first."""
    for distance in range(1, max(max(anchor.before, anchor.after) for anchor in anchors) + 1):
        for anchor in anchors:
            if distance <= anchor.before:
                yield anchor.at - distance
            if distance <= anchor.after:
                yield anchor.at + distance


def _first_of_each(indexes: Sequence[int], shapes: Sequence[str]) -> list[int]:
    """Return the first line of each shape: a message that repeats is one message."""
    first: dict[str, int] = {}
    for index in indexes:
        first.setdefault(shapes[index], index)
    return list(first.values())


def _ends(indexes: Sequence[int]) -> list[int]:
    return [*indexes[:_ENDS], *indexes[max(_ENDS, len(indexes) - _ENDS) :]]


def _says(line: str) -> bool:
    """Return whether a line is more than a blank, a test that went well, or the runner's word about the end."""
    return bool(line.strip()) and not (is_exit_mark(line) or is_green(line))


def _short(line: str) -> str:
    return line if len(line) <= LINE_BYTES else f"{line[: LINE_BYTES - 6]} [...]"
