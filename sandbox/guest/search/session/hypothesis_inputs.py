"""Hypothesis tests: use the same inputs each time, store none, and stop at the first failure."""

from __future__ import annotations

import sys
from typing import Any, Sequence

SETTINGS = "_hypothesis_internal_use_settings"
NOT_NEEDED = ("shrink", "explain", "reuse")
"""Phases that look for a simpler failure or replay an old one."""


def settle_inputs(items: Sequence[Any]) -> None:
    """Set these options on all hypothesis tests; the authors' other settings stay.

    Args:
        items: Collected pytest items.
    """
    hypothesis = sys.modules.get("hypothesis")
    if hypothesis is None:
        return
    for item in items:
        function = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
        known = getattr(function, SETTINGS, None)
        if known is None:
            continue
        try:
            phases = [phase for phase in known.phases if phase.name not in NOT_NEEDED]
            calm = hypothesis.settings(
                known, phases=phases, database=None, derandomize=True, deadline=None,
                report_multiple_bugs=False, suppress_health_check=list(hypothesis.HealthCheck),
            )  # fmt: skip
            setattr(function, SETTINGS, calm)
        except Exception:  # another hypothesis version with other settings
            return
