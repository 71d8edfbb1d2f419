"""Fit the weights of the ranking on missions, near those that it has."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.belief.missions import Mission
from bot.fixers.rung1_search.rank import VETOED
from bot.fixers.rung1_search.rank_model import CONFIDENT, LEAD, NONE, WEIGHTS

STEPS = 600
RATE = 0.3
PULL = 0.01
"""How hard the weights that the ranking has pull back, for one unit of weight."""
FREE = frozenset({"written", "unsuspected", "start", "agreeing_tests", "reach"})
"""Weights that may change their sign."""


@dataclass(frozen=True)
class Weights:
    """Weights of behaviours, and those for none of them being right."""

    behaviour: Mapping[str, float]
    none: Mapping[str, float]


SHIPPED = Weights(WEIGHTS, NONE)


@dataclass(frozen=True)
class Verdict:
    """What a mission would do.

    Attributes:
        chance: Probability that its first change is right.
        right: True if it is.
        offered: True if it is published without a question.
    """

    chance: float
    right: bool
    offered: bool


def chances(mission: Mission, weights: Weights) -> list[float]:
    """Return the probability of each behaviour, and of none at the end."""
    scores = [
        sum(weights.behaviour[name] * value for name, value in one.features.named().items())
        for one in mission.behaviours
    ]
    scores.append(sum(weights.none[name] * value for name, value in mission.none.items()))
    top = max(scores)
    parts = [math.exp(score - top) for score in scores]
    return [part / sum(parts) for part in parts]


def fit(missions: Sequence[Mission], start: Weights = SHIPPED, *, pull: float = PULL) -> Weights:
    """Return weights that make what is right likely.

    Args:
        missions: To fit on.
        start: Where to begin; the weights stay near it and keep their signs.
        pull: How near.
    """
    behaviour, none = dict(start.behaviour), dict(start.none)
    total = sum(mission.weight for mission in missions)
    for step in range(STEPS):
        up, up_none = dict.fromkeys(behaviour, 0.0), dict.fromkeys(none, 0.0)
        for mission in missions:
            _add_slopes(mission, Weights(behaviour, none), up, up_none)
        rate = RATE / (1.0 + step / 200)
        for weights, slopes, first in (
            (behaviour, up, start.behaviour),
            (none, up_none, start.none),
        ):
            for name in weights:
                slope = slopes[name] / total - pull * (weights[name] - first[name])
                moved = weights[name] + rate * slope * 4
                kept = name in FREE or moved * first[name] > 0
                weights[name] = moved if kept else 0.01 * first[name]
    return Weights(behaviour, none)


def _add_slopes(
    mission: Mission, weights: Weights, up: dict[str, float], up_none: dict[str, float]
) -> None:
    found = chances(mission, weights)
    right = [*mission.right, not any(mission.right)]
    known = sum(chance for chance, is_right in zip(found, right, strict=True) if is_right)
    wanted = [c / known if r else 0.0 for c, r in zip(found, right, strict=True)]
    for one, want, chance in zip(mission.behaviours, wanted, found, strict=False):
        for name, value in one.features.named().items():
            if value:
                up[name] += mission.weight * (want - chance) * value
    for name, value in mission.none.items():
        up_none[name] += mission.weight * (wanted[-1] - found[-1]) * value


def judged(mission: Mission, weights: Weights, *, gate: float = CONFIDENT) -> Verdict:
    """Return what a mission does with its changes.

    Args:
        mission: The mission.
        weights: Of the ranking.
        gate: Probability from which a change is published without a question.
    """
    found = chances(mission, weights)[:-1]
    found = [
        chance * (VETOED if one.vetoes else 1.0)
        for chance, one in zip(found, mission.behaviours, strict=True)
    ]
    order = sorted(range(len(found)), key=lambda n: (mission.behaviours[n].vetoes > 0, -found[n]))
    best, others = order[0], [found[n] for n in order[1:]]
    offered = found[best] >= gate and found[best] >= LEAD * max(others, default=0.0)
    return Verdict(
        chance=found[best],
        right=mission.right[best],
        offered=offered and not mission.behaviours[best].vetoes,
    )
