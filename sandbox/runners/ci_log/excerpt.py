"""The lines of a step that tell what went wrong: around the first and the last error, within a budget of bytes."""

from collections.abc import Iterable, Sequence

from sandbox.runners.printed.error_line import error_lines

BUDGET = 8 * 1024
LINE_BYTES = 600
BEFORE = 8
AFTER = 12
_GAP = 40
"""Bytes of the line that tells of a gap."""
_ENDS = 4
"""Of the lines that tell plainly, so many of the first and of the last are sure to be shown."""


def excerpt(lines: Sequence[str], *, budget: int = BUDGET) -> str:
    """The lines around the errors; where lines are left out it says how many.

    Args:
        lines: Of one step.
        budget: Most bytes.
    """
    weak, strong = error_lines(lines)
    chosen = _chosen(lines, _wanted(len(lines), weak, strong), budget)
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
    """Line numbers, the most telling first, until the budget is spent."""
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


def _wanted(count: int, weak: list[int], strong: list[int]) -> Iterable[int]:
    """Line numbers in the order of their worth."""
    sure = strong or weak
    anchors = [*sure[:_ENDS], *sure[-_ENDS:], *weak[:1], *weak[-_ENDS:]]
    if not anchors:
        # Nothing names an error: the end of the step is where it stopped.
        yield from range(count - 1, max(-1, count - 40), -1)
        return
    yield from anchors
    for distance in range(1, BEFORE + 1):
        for anchor in anchors:
            yield anchor - distance
            if distance <= AFTER // 2:
                yield anchor + distance
    yield from strong[_ENDS:-_ENDS]
    for distance in range(1, AFTER + 1):
        for anchor in anchors:
            yield anchor + distance
    yield from weak


def _short(line: str) -> str:
    return line if len(line) <= LINE_BYTES else f"{line[: LINE_BYTES - 6]} [...]"
