"""All survivors compared with each other and with the program before: what the tests alone do not tell."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Optional, Sequence

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.phase import Phase
from sandbox.guest.search.forked import Report, collect
from sandbox.guest.search.limits import Limiter

__all__ = ["Alternative", "compare"]

LEAST_S = 0.3
MOST_S = 10.0
OBSERVING = 0.7
"""Of the time, for calling; the rest is for mutants of the patched lines."""


def compare(ground: Any, survivors: Sequence[Alternative], seconds: float) -> Optional[Dict[str, Any]]:
    """The `compared` event, or None when there was no time.

    Args:
        ground: What the search stands on.
        survivors: In the order they were told.
        seconds: How long this may take.
    """
    if not survivors or seconds < LEAST_S:
        return None
    deadline = time.monotonic() + min(seconds, MOST_S)
    count = getattr(ground, "compare_inputs", 200)

    def work(limiter: Limiter, report: Report) -> None:
        wait = OBSERVING * (deadline - time.monotonic())
        report(Phase(ground, survivors, 0.9 * wait, count).run(limiter))

    reports = collect(work, OBSERVING * (deadline - time.monotonic()))
    told = _checked(reports[-1] if reports else None, len(survivors))
    told["kind"] = "compared"
    return told


def _checked(told: Any, count: int) -> Dict[str, Any]:
    """A child that ran survivors may say anything; the host looks again."""
    nothing: List[Dict[str, Any]] = [{} for _ in range(count)]
    alone = {"clusters": list(range(count)), "profiles": nothing, "differences": [], "inputs": 0}
    if not isinstance(told, dict) or set(told) != set(alone):
        return alone
    clusters, profiles = told["clusters"], told["profiles"]
    sound = isinstance(clusters, list) and isinstance(profiles, list) and len(clusters) == len(profiles) == count
    return told if sound and all(isinstance(profile, dict) for profile in profiles) else alone
