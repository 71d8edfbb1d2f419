"""Every survivor on the same inputs, each in a process of its own; works inside a child that recorded the inputs."""

from __future__ import annotations

import time
from typing import Any, List, Optional, Sequence

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.compare.calls import CALL_S, Guard, Result, globals_of, outcomes
from sandbox.guest.search.compare.examples import Example, broken
from sandbox.guest.search.compare.judge import Observed
from sandbox.guest.search.compare.record import Input
from sandbox.guest.search.process.limits import Limiter

EXAMPLE_S = 0.2
SLACK_S = 1.0
"""A last call may go on for so long behind the end of the time, on a machine that does other things, too."""


def observe(
    one: Alternative, root: str, inputs: Sequence[Input], examples: Sequence[Example], *, wait_s: float
) -> Optional[Observed]:
    """What a program does; None when that cannot be told."""

    def work(limiter: Limiter) -> Any:
        deadline = time.monotonic() + max(0.5 * wait_s, wait_s - SLACK_S)
        one.apply(root)
        guard = Guard()
        before = globals_of(inputs)
        results = outcomes(inputs, limiter, guard, lambda: time.monotonic() < deadline)
        after = globals_of(inputs)
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
    return Observed([Result(*result) for result in results], tuple(unheld), len(changed))


def observe_all(
    alternatives: Sequence[Alternative], root: str, inputs: Sequence[Input], examples: Sequence[Example], *, left: Any
) -> List[Optional[Observed]]:
    """Each within its share of the time."""
    found: List[Optional[Observed]] = []
    for number, one in enumerate(alternatives):
        # Most need far less than their share; a slow one may use what they leave.
        most = max(left() / (len(alternatives) - number), 0.4 * left())
        usual = SLACK_S + 20 * CALL_S + len(inputs) * 0.01
        found.append(observe(one, root, inputs, examples, wait_s=min(most, usual)) if most > 0.05 else None)
    return found


def without(inputs: Sequence[Any], numbers: Sequence[int]) -> List[Any]:
    """The inputs but these."""
    dropped = set(numbers)
    return [one for number, one in enumerate(inputs) if number not in dropped]
