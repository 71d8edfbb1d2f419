"""Fit the weights of the ranking on missions, near those that it has."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.belief.missions import Mission
from bot.fixers.rung1_search.rank import VETOED, Behaviour
from bot.fixers.rung1_search.rank_model import (
    LEAD,
    NONE,
    WEIGHTS,
    WRITTEN_WEIGHTS,
    features_of,
    gate_for,
    is_observed,
)

STEPS = 300
RATE, MOMENTUM = 0.4, 0.8
PULL, SEARCH_PULL = 0.0003, 0.03
"""How hard the weights that the ranking has pull back. Those of the search were fitted on more
searches than there are here."""
FREE = frozenset(
    {"written", "unsuspected", "agreeing_tests", "alive", "unrun", "run_once", "reach", "surprise"}
)
"""Weights of written changes that may change their sign."""
UNFITTED = frozenset({"agreement"})
"""Weights of written changes that are not fitted. One program writes many right answers to each bug
here, so their agreement says nothing."""
_SEARCH, _WRITTEN = "search", "written"

Name = tuple[str, str]


@dataclass(frozen=True)
class Weights:
    """Weights of searched and of written behaviours; those for none being right stay."""

    search: Mapping[str, float]
    written: Mapping[str, float]

    def flat(self) -> dict[Name, float]:
        """Return all weights by source and name."""
        found = {(_SEARCH, name): value for name, value in self.search.items()}
        return found | {(_WRITTEN, name): value for name, value in self.written.items()}

    @classmethod
    def from_flat(cls, flat: Mapping[Name, float]) -> "Weights":
        """Return weights from their flat form."""
        parts: dict[str, dict[str, float]] = {_SEARCH: {}, _WRITTEN: {}}
        for (source, name), value in flat.items():
            parts[source][name] = value
        return cls(parts[_SEARCH], parts[_WRITTEN])


SHIPPED = Weights(WEIGHTS, WRITTEN_WEIGHTS)
BY_HAND = Weights(
    WEIGHTS,
    {
        **WEIGHTS,
        **dict.fromkeys(("cost", "dearer", "size", "agreeing_tests", "reach"), 0.0),
        "narrow": -2.0,
        "unguarded": -0.3,
    },
)
"""Where a fit begins: nothing of it was fitted on this corpus."""


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


@dataclass(frozen=True)
class _Case:
    """A mission as numbers: the features of each behaviour that are not 0."""

    rows: tuple[tuple[tuple[Name, float], ...], ...]
    none: float
    right: tuple[bool, ...]
    weight: float


def _case(mission: Mission) -> _Case:
    return _Case(
        rows=tuple(_row(one, mission.none) for one in mission.behaviours),
        none=sum(NONE[name] * value for name, value in mission.none.items()),
        right=(*mission.right, not any(mission.right)),
        weight=mission.weight,
    )


def _row(behaviour: Behaviour, whole: Mapping[str, float]) -> tuple[tuple[Name, float], ...]:
    source = _WRITTEN if behaviour.features.written else _SEARCH
    named = features_of(behaviour.features, whole)
    return tuple(((source, name), value) for name, value in named.items() if value)


def _chances(case: _Case, weights: Mapping[Name, float]) -> list[float]:
    scores = [sum(weights[name] * value for name, value in row) for row in case.rows]
    scores.append(case.none)
    top = max(scores)
    parts = [math.exp(score - top) for score in scores]
    total = sum(parts)
    return [part / total for part in parts]


def chances(mission: Mission, weights: Weights) -> list[float]:
    """Return the probability of each behaviour, and of none at the end."""
    return _chances(_case(mission), weights.flat())


def fit(missions: Sequence[Mission], start: Weights = BY_HAND, *, pull: float = PULL) -> Weights:
    """Return weights that make what is right likely.

    Args:
        missions: To fit on.
        start: Where to begin; the weights stay near it and keep their signs.
        pull: How near those of written changes stay.
    """
    if not missions:  # the first bugs of a corpus may all be of one fold
        return start
    first, weights = start.flat(), start.flat()
    cases = [_case(mission) for mission in missions]
    total = sum(case.weight for case in cases)
    speed = dict.fromkeys(weights, 0.0)
    for step in range(STEPS):
        slopes = dict.fromkeys(weights, 0.0)
        for case in cases:
            _add_slopes(case, weights, slopes)
        rate = RATE / (1.0 + step / 100)
        for name, old in list(weights.items()):
            if name[0] == _WRITTEN and name[1] in UNFITTED:
                continue
            back = SEARCH_PULL if name[0] == _SEARCH else pull
            slope = slopes[name] / total - back * (old - first[name])
            speed[name] = MOMENTUM * speed[name] + slope
            moved = old + rate * speed[name]
            weights[name] = moved if _may_be(name, moved, first[name]) else 0.01 * first[name]
    return Weights.from_flat(weights)


def _may_be(name: Name, value: float, first: float) -> bool:
    free = name[0] == _WRITTEN and name[1] in FREE
    return free or value * first > 0 or value == first


def _add_slopes(case: _Case, weights: Mapping[Name, float], slopes: dict[Name, float]) -> None:
    found = _chances(case, weights)
    known = sum(chance for chance, right in zip(found, case.right, strict=True) if right)
    for row, chance, right in zip(case.rows, found, case.right, strict=False):
        gain = case.weight * ((chance / known if right else 0.0) - chance)
        for name, value in row:
            slopes[name] += gain * value


def judged(mission: Mission, weights: Weights, *, gate: float | None = None) -> Verdict:
    """Return what a mission does with its changes.

    Args:
        mission: The mission.
        weights: Of the ranking.
        gate: Probability from which a change is published without a question, if not the usual.
    """
    found = [
        chance * (VETOED if one.vetoes else 1.0)
        for chance, one in zip(chances(mission, weights), mission.behaviours, strict=False)
    ]
    order = sorted(range(len(found)), key=lambda n: (mission.behaviours[n].vetoes > 0, -found[n]))
    best, others = order[0], [found[n] for n in order[1:]]
    behaviour = mission.behaviours[best]
    least = gate or gate_for(written=bool(behaviour.features.written))
    ahead = found[best] >= LEAD * max(others, default=0.0)
    return Verdict(
        chance=found[best],
        right=mission.right[best],
        offered=found[best] >= least
        and ahead
        and not behaviour.vetoes
        and is_observed(behaviour.features, mission.none),
    )
