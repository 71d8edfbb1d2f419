"""Tests that the host kept from the whole search, run on a survivor at its end."""

from __future__ import annotations

from typing import Any, List

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.harness import PASS, SKIP, Runner
from sandbox.guest.search.limits import Limiter

MOST = 200


def held_out_failures(one: Alternative, ground: Any, wait_s: float) -> int:
    """How many of them fail now; none where that cannot be told in time.

    Args:
        one: The survivor.
        ground: What the search stands on.
        wait_s: How long this may take.
    """
    tests: List[int] = list(getattr(ground, "held_out", ()))[:MOST]
    if not tests or not one.swaps or wait_s <= 0.05:
        return 0

    def work(limiter: Limiter) -> Any:
        one.apply(ground.root)
        runner = Runner(ground.items.all, limiter)
        lost = sum(runner.run(test, ground.screen.limits.of(test, 5.0)) not in (PASS, SKIP) for test in tests)
        runner.close()
        return lost

    told = branch(work, wait_s)
    return told if isinstance(told, int) and not isinstance(told, bool) and told >= 0 else 0
