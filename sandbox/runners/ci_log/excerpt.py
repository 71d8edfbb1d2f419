"""Extract the lines of a step that explain the failure, with context, within a byte budget."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sandbox.runners.ci_log.shapes import headlines, shape
from sandbox.runners.printed.error_line import error_lines, hints, is_exit_mark, is_green

BUDGET = 8 * 1024
LINE_BYTES = 600
_GAP = 40
"""Bytes of a line that reports omitted lines."""
_ENDS = 4
"""Number of lines of one kind that are always shown, at the start and at the end."""
_RARE = 2
"""Lines whose shape occurs more often are routine output."""


class _Anchor(NamedTuple):
    """A line that is shown with its context."""

    at: int
    before: int
    after: int


def excerpt(lines: Sequence[str], *, budget: int = BUDGET) -> str:
    """Return the whole step if it fits, else the lines around the errors.

    Args:
        lines: The lines of one step.
        budget: Maximum number of bytes.
    """
    chosen = _choose(lines, range(len(lines)), budget)
    if len(chosen) < len(lines):
        chosen = _choose(lines, _rank(lines), budget)
    parts: list[str] = []
    last = -1
    for index in sorted(chosen):
        if index > last + 1:
            parts.append(f"[... {index - last - 1} lines omitted ...]")
        parts.append(_shorten(lines[index]))
        last = index
    if last + 1 < len(lines) and parts:
        parts.append(f"[... {len(lines) - last - 1} lines omitted ...]")
    return "\n".join(parts)


def _choose(lines: Sequence[str], wanted: Iterable[int], budget: int) -> set[int]:
    """Return line numbers, the most informative first, until the budget is spent."""
    chosen: set[int] = set()
    left = budget
    for index in wanted:
        if not 0 <= index < len(lines) or index in chosen:
            continue
        cost = len(_shorten(lines[index]).encode("utf-8", "replace")) + 1
        if index - 1 not in chosen and index + 1 not in chosen:
            cost += _GAP
        if cost > left:
            if left < LINE_BYTES:
                break
            continue
        chosen.add(index)
        left -= cost
    return chosen


def _rank(lines: Sequence[str]) -> Iterator[int]:
    """Yield line numbers in order of relevance."""
    shapes = [shape(line) for line in lines]
    count = Counter(shapes)
    rare = [count[found] <= _RARE for found in shapes]
    errors, strong = error_lines(lines)
    weak = [index for index in errors if not is_exit_mark(lines[index])]
    soft = [index for index, line in enumerate(lines) if rare[index] and hints(line)]
    end = next(
        (index for index in range(len(lines) - 1, -1, -1) if _is_informative(lines[index])),
        len(lines) - 1,
    )
    sure = _first_of_each(strong, shapes)
    likely = [index for index in _first_of_each(weak, shapes) if rare[index]]
    # Explicit errors get the most context, then likely ones, the end, and hints.
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
    """Yield the lines around the anchors, the nearest first."""
    for distance in range(1, max(max(anchor.before, anchor.after) for anchor in anchors) + 1):
        for anchor in anchors:
            if distance <= anchor.before:
                yield anchor.at - distance
            if distance <= anchor.after:
                yield anchor.at + distance


def _first_of_each(indexes: Sequence[int], shapes: Sequence[str]) -> list[int]:
    """Return the first line of each shape: a repeated message counts once."""
    first: dict[str, int] = {}
    for index in indexes:
        first.setdefault(shapes[index], index)
    return list(first.values())


def _ends(indexes: Sequence[int]) -> list[int]:
    return [*indexes[:_ENDS], *indexes[max(_ENDS, len(indexes) - _ENDS) :]]


def _is_informative(line: str) -> bool:
    """Return False for blank lines, passed tests, and the runner's exit marks."""
    return bool(line.strip()) and not (is_exit_mark(line) or is_green(line))


def _shorten(line: str) -> str:
    return line if len(line) <= LINE_BYTES else f"{line[: LINE_BYTES - 6]} [...]"
