"""Figures of a calibrated probability: Brier score, reliability, precision and recall at the gate."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.belief.fitting import Verdict
from benchmarks.belief.missions import Mission, changes_of

BINS = 10
Z = 1.96
DRAWS = 1_000


def interval(part: int, whole: int) -> list[float] | None:
    """Return Wilson's interval of a share, at 95 %; None without any."""
    if not whole:
        return None
    share, square = part / whole, Z * Z
    middle = (share + square / (2 * whole)) / (1 + square / whole)
    spread = share * (1 - share) / whole + square / (4 * whole * whole)
    half = Z * math.sqrt(spread) / (1 + square / whole)
    return [round(max(0.0, middle - half), 3), round(min(1.0, middle + half), 3)]


def figures(missions: Sequence[Mission], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the figures of some missions.

    Precision is the share of right changes among those offered. Recall is the share of offered
    ones among the missions whose first change is right. Each mission counts once.

    Args:
        missions: The missions.
        verdicts: What they would do, in the same order.
    """
    offered = [one for one in verdicts if one.offered]
    right = [one for one in verdicts if one.right]
    good = sum(one.right for one in offered)
    return {
        "missions": len(verdicts),
        "bugs": len({mission.bug for mission in missions}),
        "right": len(right),
        "wrong": len(verdicts) - len(right),
        "possible": sum(any(mission.right) for mission in missions),
        "brier": round(_brier(verdicts), 4) if verdicts else None,
        "offered": len(offered),
        "precision": round(good / len(offered), 3) if offered else None,
        "precision_interval": interval(good, len(offered)),
        "precision_by_bug": resampled(missions, verdicts, of=lambda one: one.offered),
        "recall": round(good / len(right), 3) if right else None,
        "recall_interval": interval(good, len(right)),
        "recall_by_bug": resampled(missions, verdicts, of=lambda one: one.right),
    }


def resampled(
    missions: Sequence[Mission], verdicts: Sequence[Verdict], *, of: Callable[[Verdict], bool]
) -> list[float] | None:
    """Return the middle 95 % of a share over random draws of the bugs, whose own changes are alike.

    Args:
        missions: The missions.
        verdicts: What they would do.
        of: Which verdicts the share is taken of; those offered and right count.
    """
    counts: dict[str, tuple[int, int]] = {}
    for mission, verdict in zip(missions, verdicts, strict=True):
        if of(verdict):
            good, whole = counts.get(mission.bug, (0, 0))
            counts[mission.bug] = (good + (verdict.offered and verdict.right), whole + 1)
    if not counts:
        return None
    chance = random.Random(0)  # noqa: S311 - no secret
    shares = []
    for _ in range(DRAWS):
        drawn = chance.choices(list(counts.values()), k=len(counts))
        shares.append(sum(good for good, _ in drawn) / sum(whole for _, whole in drawn))
    shares.sort()
    return [round(shares[int(DRAWS * part)], 3) for part in (0.025, 0.975)]


def _brier(verdicts: Sequence[Verdict]) -> float:
    return sum((one.chance - one.right) ** 2 for one in verdicts) / len(verdicts)


def reliability(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Return the bins of the reliability curve that are not empty, lowest first."""
    bins: dict[int, list[Verdict]] = {}
    for one in verdicts:
        bins.setdefault(min(BINS - 1, int(one.chance * BINS)), []).append(one)
    return [
        {
            "from": number / BINS,
            "count": len(ones),
            "mean": round(sum(one.chance for one in ones) / len(ones), 3),
            "right": round(sum(one.right for one in ones) / len(ones), 3),
            "interval": interval(sum(one.right for one in ones), len(ones)),
        }
        for number, ones in sorted(bins.items())
    ]


def line_counts(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return how many written changes have new lines that no test or only one call runs.

    Args:
        rows: The rows of bugs; in older ones nothing is counted.
    """
    names = ("changes", "counted", "unrun", "run_once")
    found = {label: dict.fromkeys(names, 0) for label in ("right", "wrong")}
    for changes in filter(None, (changes_of(row, "given") for row in rows)):
        # Without a comparison there is no profile.
        for kind, right, profile in zip(
            changes.kinds, changes.right, changes.profiles, strict=False
        ):
            if kind != "search" and right is not None:
                counts = found["right" if right else "wrong"]
                counts["changes"] += 1
                counts["counted"] += profile.new_lines > 0
                counts["unrun"] += profile.unrun > 0
                counts["run_once"] += profile.run_once > 0
    return found
