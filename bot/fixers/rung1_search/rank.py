"""Rank survivors by veto, then by likelihood of their behaviour, then by size of the change."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.fixers.rung1_search.rank_doubts import is_about_oracle, vetoes
from bot.fixers.rung1_search.rank_features import (
    Features,
    compute_features,
    edits_text,
    is_written,
    mean_cost,
    order_key,
)
from bot.fixers.rung1_search.rank_model import (
    gate_for,
    is_confident,
    is_observed,
    none_features,
    probabilities,
)
from sandbox.types import Difference, Profile, Survivor, SurvivorComparison

VETOED = 0.2
"""Factor on the probability of a vetoed survivor."""
SECOND = 0.5
"""Factor on the probability of further survivors of the same behaviour."""


@dataclass(frozen=True)
class Ranked:
    """A ranked survivor.

    Attributes:
        survivor: The fix, including the doubts found by the comparison.
        number: Index of the survivor in the order reported. It identifies the survivor when
            warnings are added.
        agreeing: Number of survivors with the same behaviour, itself included.
        behaviours: Number of distinct behaviours.
        rivals: Best survivor of every other behaviour, most likely first.
        score: Probability that it is right, from 0 to 1.
        confident: True if it is likely and clearly ahead. Otherwise a person is asked.
        differences: Difference from each rival; its input is empty if unknown.
        profile: Observations of its behaviour beyond the tests.
        inputs: Number of inputs on which the survivors were compared.
    """

    survivor: Survivor
    number: int
    agreeing: int
    behaviours: int
    rivals: tuple[Survivor, ...]
    score: float
    confident: bool = False
    differences: tuple[Difference, ...] = ()
    profile: Profile = field(default_factory=Profile)
    inputs: int = 0


@dataclass(frozen=True)
class Behaviour:
    """Survivors with the same behaviour, the best of them first.

    Attributes:
        members: Indexes of the survivors, in the order reported.
        vetoes: Number of vetoes against the first.
        features: Its features.
        chance: Probability that it is right.
    """

    members: tuple[int, ...]
    vetoes: int
    features: Features
    chance: float = 0.0


def rank_survivors(
    survivors: Sequence[Survivor],
    originals: Mapping[str, str],
    compared: SurvivorComparison | None = None,
    *,
    accepted: Collection[int] = (),
) -> tuple[Ranked, ...]:
    """Return the survivors, best first.

    Args:
        survivors: In the order found.
        originals: Text of each edited file before, by path.
        compared: The search's comparison of the survivors, if there was one.
        accepted: Indexes of those whose edit people accepted at another place.
    """
    if not survivors:
        return ()
    survivors = _with_observed_warnings(survivors, _profiles(survivors, compared))
    ordered = ordered_behaviours(survivors, originals, compared, accepted=accepted)
    gate = gate_for(written=bool(ordered[0].features.written))
    confident = is_confident([b.chance for b in ordered], gate=gate) and not ordered[0].vetoes
    best = survivors[ordered[0].members[0]]
    confident = confident and not any(map(is_about_oracle, best.warnings))
    confident = confident and is_observed(ordered[0].features, none_features(compared))
    profiles = _profiles(survivors, compared)
    ranked: list[Ranked] = []
    for place in range(max(len(b.members) for b in ordered)):
        # Show one of each behaviour before the second of any: the next guess should differ.
        for behaviour in ordered:
            if place < len(behaviour.members):
                number = behaviour.members[place]
                rivals = tuple(other for other in ordered if other is not behaviour)
                ranked.append(
                    Ranked(
                        survivor=survivors[number],
                        number=number,
                        agreeing=len(behaviour.members),
                        behaviours=len(ordered),
                        rivals=tuple(survivors[rival.members[0]] for rival in rivals),
                        score=round(behaviour.chance * (SECOND if place else 1.0), 4),
                        confident=confident and behaviour is ordered[0],
                        differences=tuple(
                            _difference(number, behaviour, rival, compared) for rival in rivals
                        ),
                        profile=profiles[number],
                        inputs=compared.inputs if compared else 0,
                    )
                )
    return tuple(ranked)


def ordered_behaviours(
    survivors: Sequence[Survivor],
    originals: Mapping[str, str],
    compared: SurvivorComparison | None,
    *,
    accepted: Collection[int] = (),
) -> tuple[Behaviour, ...]:
    """Return the distinct behaviours, most likely first."""
    profiles = _profiles(survivors, compared)
    classes: dict[str, list[int]] = {}
    for number, survivor in enumerate(survivors):
        classes.setdefault(_behaviour_key(number, survivor, compared), []).append(number)
    found = []
    costs = [mean_cost(survivor) for survivor in survivors if not is_written(survivor)]
    cheapest = min(costs, default=0.0)
    for members in classes.values():
        members.sort(
            key=lambda n: (
                order_key(survivors[n], profiles[n], originals),
                edits_text(survivors[n]),
            )
        )
        first = members[0]
        features = compute_features(
            [survivors[n] for n in members],
            profiles[first],
            originals,
            cheapest=cheapest,
            accepted=any(n in accepted for n in members),
        )
        found.append(Behaviour(tuple(members), vetoes(survivors[first].warnings), features))
    chances = probabilities([behaviour.features for behaviour in found], compared)
    weighed = [
        replace(b, chance=chance * (VETOED if b.vetoes else 1.0))
        for b, chance in zip(found, chances, strict=True)
    ]
    return tuple(
        sorted(
            weighed,
            key=lambda b: (
                min(b.vetoes, 1),
                # Rounded, so that floating-point noise does not decide.
                -round(b.chance, 9),
                survivors[b.members[0]].path,
                survivors[b.members[0]].line,
                edits_text(survivors[b.members[0]]),
            ),
        )
    )


def _behaviour_key(number: int, survivor: Survivor, compared: SurvivorComparison | None) -> str:
    if compared is not None and number < len(compared.clusters):
        return f"cluster {compared.clusters[number]}"
    # Without a computed behaviour, only equal edits count as equivalent.
    return survivor.behaviour or edits_text(survivor)


def _profiles(
    survivors: Sequence[Survivor], compared: SurvivorComparison | None
) -> tuple[Profile, ...]:
    if compared is not None and len(compared.profiles) == len(survivors):
        return compared.profiles
    return tuple(survivor.profile for survivor in survivors)


def _with_observed_warnings(
    survivors: Sequence[Survivor], profiles: Sequence[Profile]
) -> list[Survivor]:
    """Add warnings that were observed while the survivors ran."""
    pairs = zip(survivors, profiles, strict=True)
    return [s.with_(warnings=(*s.warnings, *p.warnings)) if p.warnings else s for s, p in pairs]


def _difference(
    number: int, behaviour: Behaviour, rival: Behaviour, compared: SurvivorComparison | None
) -> Difference:
    """Return the difference from a rival, seen from this survivor.

    Members of one behaviour differ from others in the same way.
    """
    for known in compared.differences if compared else ():
        if known.first in behaviour.members and known.second in rival.members:
            return known.with_(first=number, second=rival.members[0])
        if known.second in behaviour.members and known.first in rival.members:
            # The search reported this pair in the other order.
            results = (known.results[1], known.results[0])
            return Difference(
                first=number, second=rival.members[0], input=known.input, results=results
            )
    return Difference(first=number, second=rival.members[0], input="", results=("", ""))
