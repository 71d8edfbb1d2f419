"""Flakiness check: failing tests must fail every time.

For a flaky test any candidate would look like a fix.
"""

from __future__ import annotations

import random
import time
from typing import Any, List, Sequence, Set

from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import PASS, SKIP, Items, Runner

LIMIT_S = 1.0


def find_flaky(
    items: Items, tests: Sequence[int], *, runs: int, wait_s: float, bounds: Any
) -> List[str]:
    """Return failing tests that pass in some of several processes, each with another random seed.

    Args:
        items: The tests.
        tests: Indexes of those to run, in this order.
        runs: Number of runs.
        wait_s: Timeout in seconds; fewer runs are made if it is too short.
        bounds: Resource limits of a child.
    """
    ends = time.monotonic() + wait_s
    failing = set(items.failing)
    passed: Set[int] = set()
    for seed in range(runs):
        left = ends - time.monotonic()
        if left <= 0 or passed:
            break
        passed.update(
            told
            for told in collect(_work(items, tests, seed), left, bounds)
            if isinstance(told, int)
        )
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
