"""How many runs tell a flake from a steady failure, and how often that answer is wrong. Pure.

The rule, for a test that fails in one run with probability p, on one commit:

- the first run is red: it runs `enough` (5) times more. All red: steady. Mixed: it goes on to `most` (10) runs in all,
  so that the rate is measured. None red when run alone: the whole command runs again, at most three times; red every
  time is order dependence, else a flake.
- the first run is green, so that only CI saw it fail: up to `most` (10) runs in all. Any red: a flake. None:
  not reproduced.

From that, the chance that a flake is called one (the rest is called steady, or not reproduced):

    p                    0.1    0.2    0.3    0.4    0.5    0.6    0.7    0.8
    called a flake       0.65   0.89   0.97   0.99   0.98   0.95   0.88   0.74
    called steady        0.00   0.00   0.00   0.01   0.02   0.05   0.12   0.26
    not reproduced       0.35   0.11   0.03   0.01   0.00   0.00   0.00   0.00

A failure that no change mends is run up to `most` times before the mission gives up, so that a flake that was red six
times in a row still has four chances to show itself: 0.97 of flakes at p = 0.7 are then called so.

What is called steady by chance has three more hurdles before it could be called fixed, see `bot.mission.verify`: the
base commit has to be green, four runs with the change green, and one without it, in the same sandbox, red.
"""

import math
from collections.abc import Sequence

from sandbox.types import Frozen

WHOLE_RUNS = 3
"""Red runs of the whole command, besides the first, that make a failure order-dependent."""
LEAST = 3
"""Runs that are made whatever they cost."""
_Z = 1.96


class RunPlan(Frozen):
    """How often to run again."""

    least: int = LEAST
    enough: int = 5
    """Reruns when all of them agree with a red first run."""
    most: int = 10
    """Runs in all, the first counted."""
    wall_s: float = 300.0


def another(agreed: Sequence[bool], spent_s: float, plan: RunPlan) -> bool:
    """Whether to run once more after a red first run.

    Args:
        agreed: For each rerun, whether it failed as the first run did.
        spent_s: Seconds spent on them.
        plan: How often.
    """
    if len(agreed) < plan.least:
        return True
    if spent_s >= plan.wall_s:
        return False
    mixed = any(agreed) and not all(agreed)
    return len(agreed) < (plan.most - 1 if mixed else plan.enough)


def called_a_flake(rate: float, plan: RunPlan | None = None) -> float:
    """The chance that the rule calls a test a flake that fails with this rate.

    Args:
        rate: Its chance to fail in one run.
        plan: How often it runs.
    """
    return 1.0 - called_steady(rate, plan) - not_seen(rate, plan)


def called_steady(rate: float, plan: RunPlan | None = None) -> float:
    """The chance that every run is red, or that it looks order-dependent.

    Args:
        rate: Its chance to fail in one run.
        plan: How often it runs.
    """
    enough = (plan or RunPlan()).enough
    return rate ** (1 + enough) + rate * (1 - rate) ** enough * rate**WHOLE_RUNS


def not_seen(rate: float, plan: RunPlan | None = None) -> float:
    """The chance that no run is red.

    Args:
        rate: Its chance to fail in one run.
        plan: How often it runs.
    """
    return (1 - rate) ** (plan or RunPlan()).most


def interval(reds: int, runs: int) -> tuple[float, float]:
    """Between which rates a test fails that failed so often: Wilson's interval, 95 %.

    Args:
        reds: Red runs.
        runs: All runs, at least one.
    """
    share, square = reds / runs, _Z * _Z / runs
    middle = (share + square / 2) / (1 + square)
    half = _Z * math.sqrt(share * (1 - share) / runs + square / (4 * runs)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
