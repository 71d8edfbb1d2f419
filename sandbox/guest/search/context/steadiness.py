"""Whether failing tests fail every time: one that wavers would take any candidate for a fix."""

from __future__ import annotations

import random
import time
from typing import Any, List, Sequence, Set

from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import PASS, SKIP, Items, Runner

LIMIT_S = 1.0


def wavering(items: Items, tests: Sequence[int], *, runs: int, wait_s: float, bounds: Any) -> List[str]:
    """Failing tests that pass in some of several processes, each time with other random numbers.

    Args:
        items: The tests.
        tests: Which to run, in this order.
        runs: How often.
        wait_s: How long this may take; fewer runs are made when it is not enough.
        bounds: What a child may use.
    """
    ends = time.monotonic() + wait_s
    failing = set(items.failing)
    passed: Set[int] = set()
    for seed in range(runs):
        left = ends - time.monotonic()
        if left <= 0 or passed:
            break
        passed.update(told for told in collect(_work(items, tests, seed), left, bounds) if isinstance(told, int))
    return [items.names[i] for i in items.failing if i in passed & failing]


def _work(items: Items, tests: Sequence[int], seed: int) -> Any:
    def work(limiter: Limiter, report: Report) -> None:
        random.seed(seed)
        runner = Runner(items.all, limiter)
        for index in tests:
            if runner.run(index, LIMIT_S) in (PASS, SKIP):
                report(index)
        runner.close()

    return work
