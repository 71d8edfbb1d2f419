"""Numbers of runs that distinguish a flake from a steady failure, with their error rates. Pure.

The rule, for a test that fails in one run with probability p, on one commit:

- the first run is red: `enough` (5) reruns. All red: steady. Mixed: up to `most` (10) runs in all,
  to measure the rate. None red when run alone: the whole command runs again, up to three times; red
  every time is order dependence, else a flake.
- the first run is green, so that only CI saw it fail: up to `most` (10) runs in all. Any red: a
  flake. None: not reproduced.

From that, the chance that a flake is classified as one (otherwise steady, or not reproduced):

    p                    0.1    0.2    0.3    0.4    0.5    0.6    0.7    0.8
    called a flake       0.65   0.89   0.97   0.99   0.98   0.95   0.88   0.74
    called steady        0.00   0.00   0.00   0.01   0.02   0.05   0.12   0.26
    not reproduced       0.35   0.11   0.03   0.01   0.00   0.00   0.00   0.00

A failure that no change fixes is run up to `most` times before the mission gives up. A flake that
was red six times in a row has four more chances: 0.97 of flakes at p = 0.7 are then found.

A flake classified as steady is hardly called fixed by chance (`bot.mission.verifying.verify`):
base commit green, four runs with the change green, and one without it in the same sandbox red.
"""

import math
from collections.abc import Sequence

from sandbox.types import Frozen

WHOLE_RUNS = 3
"""Red runs of the whole command after the first that make a failure order-dependent."""
LEAST = 3
"""Minimum number of runs, at any cost."""
# Quantile of the normal distribution for 95 %.
_Z = 1.96


class RunPlan(Frozen):
    """Number of reruns."""

    least: int = LEAST
    enough: int = 5
    """Reruns if all of them agree with a red first run."""
    most: int = 10
    """Maximum number of runs, the first included."""
    wall_s: float = 300.0
    is_steady: bool = False
    """One rerun that agrees is enough: chance does not decide what fails."""


def another(agreed: Sequence[bool], spent_s: float, plan: RunPlan) -> bool:
    """Return True if another run is needed after a red first run.

    Args:
        agreed: For each rerun, True if it failed as the first run did.
        spent_s: Duration of the reruns so far, in seconds.
        plan: The number of reruns.
    """
    if plan.is_steady and agreed and all(agreed):
        return False
    if len(agreed) < plan.least:
        return True
    if spent_s >= plan.wall_s:
        return False
    mixed = any(agreed) and not all(agreed)
    return len(agreed) < (plan.most - 1 if mixed else plan.enough)


def called_a_flake(rate: float, plan: RunPlan | None = None) -> float:
    """Return the chance that the rule classifies a test with this rate as a flake.

    Args:
        rate: Its probability of failing in one run.
        plan: The number of reruns.
    """
    return 1.0 - called_steady(rate, plan) - not_seen(rate, plan)


def called_steady(rate: float, plan: RunPlan | None = None) -> float:
    """Return the chance that every run is red, or that the test looks order-dependent.

    Args:
        rate: Its probability of failing in one run.
        plan: The number of reruns.
    """
    enough = (plan or RunPlan()).enough
    # All runs red; or the first red, none alone, and then all whole runs red.
    return rate ** (1 + enough) + rate * (1 - rate) ** enough * rate**WHOLE_RUNS


def not_seen(rate: float, plan: RunPlan | None = None) -> float:
    """Return the chance that no run is red.

    Args:
        rate: Its probability of failing in one run.
        plan: The number of reruns.
    """
    return (1 - rate) ** (plan or RunPlan()).most


def interval(reds: int, runs: int) -> tuple[float, float]:
    """Return the bounds of a test's failure rate: Wilson's score interval, 95 %.

    Args:
        reds: Red runs.
        runs: All runs, at least one.
    """
    share, square = reds / runs, _Z * _Z / runs
    middle = (share + square / 2) / (1 + square)
    half = _Z * math.sqrt(share * (1 - share) / runs + square / (4 * runs)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
