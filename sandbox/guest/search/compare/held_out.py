"""Tests that the host withheld from the whole search, run on a survivor at the end."""

from __future__ import annotations

from typing import Any, List, Optional

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import PASS, SKIP, Runner

MOST = 200


def held_out_failures(one: Alternative, facts: Any, wait_s: float) -> int:
    """Return how many of them fail only with the change; 0 if there is no time to tell.

    Args:
        one: The survivor.
        facts: What is known from the collected tests.
        wait_s: Timeout in seconds.
    """
    tests: List[int] = list(getattr(facts, "held_out", ()))[:MOST]
    if not tests or not one.swaps or wait_s <= 0.05:
        return 0
    lost = _lost(one, facts, tests, 0.5 * wait_s)
    # In this process a test may fail without the change; such tests do not count.
    return len(set(lost) - set(_lost(None, facts, lost, 0.5 * wait_s))) if lost else 0


def _lost(one: Optional[Alternative], facts: Any, tests: List[int], wait_s: float) -> List[int]:
    """Return the tests that fail with a survivor applied, or without one."""

    def work(limiter: Limiter) -> Any:
        if one is not None:
            one.apply(facts.root)
        runner = Runner(facts.items.all, limiter)
        lost = [
            test
            for test in tests
            if runner.run(test, facts.screen.limits.of(test, 5.0)) not in (PASS, SKIP)
        ]
        runner.close()
        return lost

    told = branch(work, wait_s)
    known = frozenset(tests)
    return (
        [test for test in told if isinstance(test, int) and test in known]
        if isinstance(told, list)
        else []
    )
