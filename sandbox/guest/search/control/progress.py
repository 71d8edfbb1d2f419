"""Measure how far a failing test runs before it fails.

An edit that lets it run farther may be half of a fix.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.lanes.model import ReadyCandidate
from sandbox.guest.search.process.forked import Bounds, Report, collect
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.failing import catch_error
from sandbox.guest.search.session.harness import Runner

AT_ONCE = 60
"""Number of candidates that one child measures."""
LIMIT_S = 0.5


class Mark(NamedTuple):
    """The line of its own code on which a test failed, and whether by its own assertion."""

    line: int
    asserted: bool


def measure_progress(
    items: Sequence[Any], ready: Sequence[ReadyCandidate], *, wait_s: float, bounds: Bounds
) -> List[Tuple[int, ReadyCandidate]]:
    """Return the candidates with which their first failing test runs farther, largest gain first.

    Args:
        items: All items of the session.
        ready: Rejected candidates of the swap lane.
        wait_s: Timeout in seconds.
        bounds: Resource limits of a child.
    """
    tests = sorted({r.trial.failing[0] for r in ready})
    before = _marks(items, [((), test) for test in tests], wait_s, bounds)
    known = {test: mark for test, mark in zip(tests, before) if mark is not None}
    found: List[Tuple[int, int, ReadyCandidate]] = []
    for start in range(0, len(ready), AT_ONCE):
        part = ready[start : start + AT_ONCE]
        marks = _marks(items, [(r.trial.swaps, r.trial.failing[0]) for r in part], wait_s, bounds)
        for number, (one, mark) in enumerate(zip(part, marks), start):
            gain = _gain(known.get(one.trial.failing[0]), mark)
            if gain:
                found.append((-gain, number, one))
    return [(-gain, one) for gain, _, one in sorted(found, key=lambda f: f[:2])]


def _gain(before: Optional[Mark], after: Optional[Mark]) -> int:
    """Return the number of lines gained; an assertion in place of another error counts as one."""
    if before is None or after is None:
        return 0
    if after.line > before.line:
        return 1 + after.line - before.line
    return int(after.line == before.line and after.asserted and not before.asserted)


def _marks(
    items: Sequence[Any], runs: Sequence[Tuple[Any, int]], wait_s: float, bounds: Bounds
) -> List[Optional[Mark]]:
    def work(limiter: Limiter, report: Report) -> None:
        runner = Runner(items, limiter)
        for number, (swaps, index) in enumerate(runs):
            olds = [(function, function.__code__) for function, _ in swaps]
            for function, code in swaps:
                function.__code__ = code
            error = catch_error(runner, index, LIMIT_S)
            for function, code in olds:
                function.__code__ = code
            mark = _mark(error, items[index])
            if mark is not None:
                report([number, mark.line, mark.asserted])

    found: Dict[int, Mark] = {}
    for told in collect(work, wait_s, bounds):
        if (
            isinstance(told, list)
            and len(told) == 3
            and all(isinstance(value, int) for value in told)
        ):
            found[told[0]] = Mark(told[1], bool(told[2]))
    return [found.get(number) for number in range(len(runs))]


def _mark(error: Optional[BaseException], item: Any) -> Optional[Mark]:
    """Return the line of the test function through which the exception passed."""
    code = getattr(getattr(item, "function", None), "__code__", None)
    line = 0
    traceback = error.__traceback__ if error is not None else None
    while traceback is not None:
        if traceback.tb_frame.f_code is code:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return Mark(line, isinstance(error, AssertionError)) if line else None
