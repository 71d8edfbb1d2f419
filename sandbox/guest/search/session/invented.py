"""Tests whose inputs hypothesis invents: the same inputs each time, none kept on disk, the first failure is enough."""

from __future__ import annotations

import sys
from typing import Any, Sequence

SETTINGS = "_hypothesis_internal_use_settings"
NOT_NEEDED = ("shrink", "explain", "reuse")
"""Phases that look for a nicer failure, or for an old one."""


def settle_inputs(items: Sequence[Any]) -> None:
    """Of all items that are such tests; what else their authors set stays.

    Args:
        items: Of pytest, collected.
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
                known, phases=phases, database=None, derandomize=True, deadline=None, report_multiple_bugs=False,
                suppress_health_check=list(hypothesis.HealthCheck),
            )  # fmt: skip
            setattr(function, SETTINGS, calm)
        except Exception:  # a hypothesis that knows other settings
            return
