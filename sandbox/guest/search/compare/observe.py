"""Run every survivor on the same inputs, each in a process of its own.

This works inside a child that recorded the inputs.
"""

from __future__ import annotations

import time
from typing import Any, List, Optional, Sequence

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.compare.calls import (
    CALL_S,
    AuditGuard,
    CallResult,
    outcomes,
    read_globals,
)
from sandbox.guest.search.compare.examples import Example, broken
from sandbox.guest.search.compare.judge import ObservedProgram
from sandbox.guest.search.compare.record import Input
from sandbox.guest.search.process.limits import Limiter

EXAMPLE_S = 0.2
SLACK_S = 1.0
"""Extra time for a last call on a busy machine, in seconds."""


def observe(
    one: Alternative,
    root: str,
    inputs: Sequence[Input],
    examples: Sequence[Example],
    *,
    wait_s: float,
) -> Optional[ObservedProgram]:
    """Return the behaviour of a program, or None if it cannot be observed."""

    def work(limiter: Limiter) -> Any:
        deadline = time.monotonic() + max(0.5 * wait_s, wait_s - SLACK_S)
        one.apply(root)
        guard = AuditGuard()
        before = read_globals(inputs)
        results = outcomes(inputs, limiter, guard, lambda: time.monotonic() < deadline)
        after = read_globals(inputs)
        changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))

        def run(call: Any) -> Any:
            guard.active = True
            try:
                with limiter.within(EXAMPLE_S):
                    return call()
            finally:
                guard.active = False

        return [[list(result) for result in results], broken(examples, run), changed]

    told = branch(work, wait_s)
    if told is None:
        return None
    results, unheld, changed = told
    return ObservedProgram([CallResult(*result) for result in results], tuple(unheld), len(changed))


def observe_all(
    alternatives: Sequence[Alternative],
    root: str,
    inputs: Sequence[Input],
    examples: Sequence[Example],
    *,
    left: Any,
) -> List[Optional[ObservedProgram]]:
    """Observe each program within its share of the time."""
    found: List[Optional[ObservedProgram]] = []
    for number, one in enumerate(alternatives):
        # Most need far less than their share, so a slow one may use what is left.
        most = max(left() / (len(alternatives) - number), 0.4 * left())
        usual = SLACK_S + 20 * CALL_S + len(inputs) * 0.01
        found.append(
            observe(one, root, inputs, examples, wait_s=min(most, usual)) if most > 0.05 else None
        )
    return found


def drop(inputs: Sequence[Any], numbers: Sequence[int]) -> List[Any]:
    """Return the inputs without those of these indexes."""
    dropped = set(numbers)
    return [one for number, one in enumerate(inputs) if number not in dropped]
