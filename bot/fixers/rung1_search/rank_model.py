"""How likely a behaviour is the right one: a small conditional logit over all behaviours and "none of them"."""

import math
from collections.abc import Mapping, Sequence

from bot.fixers.rung1_search.rank_features import Features
from sandbox.types import Compared

WEIGHTS: Mapping[str, float] = {
    "cost": -0.6,
    "dearer": -1.2,
    "unsuspected": -1.6,
    "size": -0.02,
    "agreement": 0.6,
    "second_edit": -0.7,
    "changed_passing": -3.0,
    "changed_neighbours": -1.0,
    "new_errors": -1.9,
    "changed_types": -2.0,
    "surprise": -0.4,
    "donor": 1.3,
    "examples_failed": -4.4,
    "examples_kept": 1.0,
    "held_out_failed": -5.0,
    "side_effects": -1.0,
    "doubts": -0.7,
    "symptom": -1.2,
    "undoes": 1.5,
}
"""What one unit of each feature adds to the logarithm of the odds; set by hand, with the signs that
docs/reference/repair.md explains, then moved by `benchmarks/rank_fit.py` on development sets and rounded. The fit sees
every search twice: as it was, and as if what is right had not been found, which in a whole repository is common.
`undoes` is by hand alone: the sets have no diff that turned a check red."""

NONE_OF_THEM = -3.0
"""The same logarithm for "no survivor is right", where failing tests run a few lines only."""
REACH, FEW_LINES, LINES_UNKNOWN = 0.8, 10, 100
"""Added to it for every factor of ten of lines that failing tests run: the mistake may be in any of them."""
UNMEASURED = 0.4
"""The share that is assumed where no mutant was tried."""
UNCOMPARED = 0.8
"""Added to it when nothing could be observed beside the tests."""
DEATHS = 0.8
"""Added to it for each whole share of candidates that passed the screen and then failed held-out tests."""
IMMUNE = 1.5
"""Added to it for the share of mutants of the patched lines that no test notices."""
CONFIDENT = 0.6
"""A probability from which a fix is shown without asking."""
LEAD = 2.0
"""How many times likelier than the next behaviour it has to be."""


def evidence_for(features: Features) -> float:
    """How much speaks for a behaviour, as a logarithm of odds."""
    return sum(WEIGHTS[name] * value for name, value in features.named().items())


def probabilities(behaviours: Sequence[Features], compared: Compared | None) -> tuple[float, ...]:
    """For each behaviour how likely it is the right one; what is missing to 1 is that none is.

    Args:
        behaviours: Every one that survived.
        compared: What the search observed of them all.
    """
    none = none_of_them(compared)
    scores = [evidence_for(features) for features in behaviours]
    top = max([none, *scores])
    total = math.exp(none - top) + sum(math.exp(score - top) for score in scores)
    return tuple(math.exp(score - top) / total for score in scores)


def none_of_them(compared: Compared | None) -> float:
    """How much speaks for "no survivor is right", as a logarithm of odds."""
    if compared is None:
        return NONE_OF_THEM + UNCOMPARED + REACH
    lines = compared.failing_lines or LINES_UNKNOWN
    none = NONE_OF_THEM + REACH * math.log10(max(1.0, lines / FEW_LINES))
    none += IMMUNE * immune_share(compared) + (0.0 if compared.inputs else UNCOMPARED)
    if compared.passed_screen > 0 and compared.held_out:
        none += DEATHS * (1.0 - min(1.0, compared.passed_held_out / compared.passed_screen))
    return none


def immune_share(compared: Compared) -> float:
    """The share of mutants that survive the tests, over all behaviours that were mutated; a half where none was."""
    tried = sum(profile.mutants for profile in compared.profiles)
    killed = sum(profile.mutants_killed for profile in compared.profiles)
    return 1.0 - min(1.0, killed / tried) if tried else UNMEASURED


def is_confident(chances: Sequence[float]) -> bool:
    """Whether the first of these is clearly ahead of the others, and likely enough by itself.

    Args:
        chances: Of the behaviours in their final order.
    """
    next_best = max(chances[1:], default=0.0)
    return chances[0] >= CONFIDENT and chances[0] >= LEAD * next_best
