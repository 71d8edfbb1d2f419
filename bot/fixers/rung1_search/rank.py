"""Order survivors: what is vetoed last, then the behaviour that most speaks for, in it the smallest change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.fixers.rung1_search.rank_doubts import vetoes
from bot.fixers.rung1_search.rank_features import Features, cost_of, edits_text, features_of, own_place
from bot.fixers.rung1_search.rank_model import is_confident, probabilities
from sandbox.types import Compared, Difference, Profile, Survivor

VETOED = 0.2
"""A vetoed survivor is this much as likely as its numbers say."""
SECOND = 0.5
"""The same for the second and further survivors of one behaviour: they are not the first guess."""


@dataclass(frozen=True)
class Ranked:
    """A survivor in its place.

    Attributes:
        survivor: The fix, with the doubts that only the comparison showed.
        number: Which survivor it is, counted from 0 in the order they were told: its identity, whatever is added to it.
        agreeing: How many survivors behave as it does, itself included.
        behaviours: How many different behaviours there are in all.
        rivals: The best survivor of every other behaviour, likeliest first.
        score: How likely it is right, from 0 to 1.
        confident: Whether it is likely and clearly ahead; one that is not is a question to a person.
        differences: Where it parts from each rival: an empty input when that is not known.
        profile: What was observed of it beside the tests.
        inputs: On how many inputs the survivors were compared.
    """

    survivor: Survivor
    number: int
    agreeing: int
    behaviours: int
    rivals: tuple[Survivor, ...]
    score: float
    confident: bool = True
    differences: tuple[Difference, ...] = ()
    profile: Profile = field(default_factory=Profile)
    inputs: int = 0


@dataclass(frozen=True)
class Behaviour:
    """Survivors that behave alike, the best of them first.

    Attributes:
        members: Their numbers, in the order they were told.
        vetoes: Of the first.
        features: What is known of it.
        chance: How likely it is right.
    """

    members: tuple[int, ...]
    vetoes: int
    features: Features
    chance: float = 0.0


def rank_survivors(
    survivors: Sequence[Survivor], originals: Mapping[str, str], compared: Compared | None = None
) -> tuple[Ranked, ...]:
    """Survivors, best first.

    Args:
        survivors: In the order they were found.
        originals: Path to the text of each edited file before.
        compared: What the search observed of them all, if it came to that.
    """
    if not survivors:
        return ()
    survivors = _warned(survivors, _profiles(survivors, compared))
    ordered = ordered_behaviours(survivors, originals, compared)
    confident = is_confident([b.chance for b in ordered]) and not ordered[0].vetoes
    profiles = _profiles(survivors, compared)
    ranked: list[Ranked] = []
    for place in range(max(len(b.members) for b in ordered)):
        # One of each behaviour comes before the second of any: the next best guess is a different one.
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
                        differences=tuple(_difference(number, behaviour, rival, compared) for rival in rivals),
                        profile=profiles[number],
                        inputs=compared.inputs if compared else 0,
                    )
                )
    return tuple(ranked)


def ordered_behaviours(
    survivors: Sequence[Survivor], originals: Mapping[str, str], compared: Compared | None
) -> tuple[Behaviour, ...]:
    """What the survivors do, the likeliest behaviour first."""
    profiles = _profiles(survivors, compared)
    classes: dict[str, list[int]] = {}
    for number, survivor in enumerate(survivors):
        classes.setdefault(_class_of(number, survivor, compared), []).append(number)
    found = []
    cheapest = min(cost_of(survivor) for survivor in survivors)
    for members in classes.values():
        members.sort(key=lambda n: (own_place(survivors[n], profiles[n], originals), edits_text(survivors[n])))
        first = members[0]
        features = features_of([survivors[n] for n in members], profiles[first], originals, cheapest=cheapest)
        found.append(Behaviour(tuple(members), vetoes(survivors[first].warnings), features))
    chances = probabilities([behaviour.features for behaviour in found], compared)
    weighed = [
        replace(b, chance=chance * (VETOED if b.vetoes else 1.0)) for b, chance in zip(found, chances, strict=True)
    ]
    return tuple(
        sorted(
            weighed,
            key=lambda b: (
                min(b.vetoes, 1),
                -round(b.chance, 9),
                survivors[b.members[0]].path,
                survivors[b.members[0]].line,
                edits_text(survivors[b.members[0]]),
            ),
        )
    )


def _class_of(number: int, survivor: Survivor, compared: Compared | None) -> str:
    if compared is not None and number < len(compared.clusters):
        return f"cluster {compared.clusters[number]}"
    # Where behaviour could not be computed nothing is known to be equivalent.
    return survivor.behaviour or edits_text(survivor)


def _profiles(survivors: Sequence[Survivor], compared: Compared | None) -> tuple[Profile, ...]:
    if compared is not None and len(compared.profiles) == len(survivors):
        return compared.profiles
    return tuple(survivor.profile for survivor in survivors)


def _warned(survivors: Sequence[Survivor], profiles: Sequence[Profile]) -> list[Survivor]:
    """With what showed only while they ran."""
    pairs = zip(survivors, profiles, strict=True)
    return [s.with_(warnings=(*s.warnings, *p.warnings)) if p.warnings else s for s, p in pairs]


def _difference(number: int, behaviour: Behaviour, rival: Behaviour, compared: Compared | None) -> Difference:
    """Where a survivor parts from a rival, told from its side; members of one behaviour part from others alike."""
    for known in compared.differences if compared else ():
        if known.first in behaviour.members and known.second in rival.members:
            return known.with_(first=number, second=rival.members[0])
        if known.second in behaviour.members and known.first in rival.members:
            results = (known.results[1], known.results[0])
            return Difference(first=number, second=rival.members[0], input=known.input, results=results)
    return Difference(first=number, second=rival.members[0], input="", results=("", ""))
