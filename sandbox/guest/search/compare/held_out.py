"""Tests that the host kept from the whole search, run on a survivor at its end."""

from __future__ import annotations

from typing import Any, List, Optional

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import PASS, SKIP, Runner

MOST = 200


def held_out_failures(one: Alternative, ground: Any, wait_s: float) -> int:
    """How many of them fail now and pass without the change; none where that cannot be told in time.

    Args:
        one: The survivor.
        ground: What the search stands on.
        wait_s: How long this may take.
    """
    tests: List[int] = list(getattr(ground, "held_out", ()))[:MOST]
    if not tests or not one.swaps or wait_s <= 0.05:
        return 0
    lost = _lost(one, ground, tests, 0.5 * wait_s)
    # In this process a test may fail whatever is changed: that is no one's fault.
    return len(set(lost) - set(_lost(None, ground, lost, 0.5 * wait_s))) if lost else 0


def _lost(one: Optional[Alternative], ground: Any, tests: List[int], wait_s: float) -> List[int]:
    """The tests that fail with a survivor in place, or as the program stands."""

    def work(limiter: Limiter) -> Any:
        if one is not None:
            one.apply(ground.root)
        runner = Runner(ground.items.all, limiter)
        lost = [test for test in tests if runner.run(test, ground.screen.limits.of(test, 5.0)) not in (PASS, SKIP)]
        runner.close()
        return lost

    told = branch(work, wait_s)
    known = frozenset(tests)
    return [test for test in told if isinstance(test, int) and test in known] if isinstance(told, list) else []
