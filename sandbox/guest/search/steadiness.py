"""Whether failing tests fail every time: one that wavers would take any candidate for a fix."""

from __future__ import annotations

import random
from typing import Any, List, Set

from sandbox.guest.search.forked import Report, collect
from sandbox.guest.search.harness import PASS, SKIP, Items, Runner
from sandbox.guest.search.limits import Limiter

RUNS = 3
LIMIT_S = 1.0


def wavering(items: Items, wait_s: float, bounds: Any) -> List[str]:
    """Failing tests that pass in some of several processes, in their order, each time with other random numbers.

    Args:
        items: The tests.
        wait_s: How long this may take.
        bounds: What a child may use.
    """
    passed: Set[int] = set()
    for seed in range(RUNS):
        for told in collect(_work(items, seed), wait_s / RUNS, bounds):
            if isinstance(told, int):
                passed.add(told)
    return [items.names[i] for i in items.failing if i in passed]


def _work(items: Items, seed: int) -> Any:
    failing = set(items.failing)

    def work(limiter: Limiter, report: Report) -> None:
        random.seed(seed)
        runner = Runner(items.all, limiter)
        for index in sorted([*items.failing, *items.passing]):
            if runner.run(index, LIMIT_S) in (PASS, SKIP) and index in failing:
                report(index)
        runner.close()

    return work
