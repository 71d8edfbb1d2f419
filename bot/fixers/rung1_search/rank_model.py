"""Estimate how likely each behaviour is right: a conditional logit with a "none of them" class."""

import math
from collections.abc import Mapping, Sequence

from bot.fixers.rung1_search.rank_features import Features
from sandbox.types import SurvivorComparison

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
    "accepted": 1.5,
}
"""Log-odds for one unit of each feature.

The signs are explained in docs/reference/repair.md. The values were set by hand, then fitted by
`benchmarks/rank_fit.py` on development sets and rounded. The fit sees every search twice: as it
was, and with the right fix removed, because in a whole repository the right fix is often missing.
`undoes` and `accepted` are set by hand: the sets have no red diff and no earlier missions.
"""

NONE_OF_THEM = -3.0
"""Log-odds that no survivor is right, if failing tests run only a few lines."""
REACH, FEW_LINES, LINES_UNKNOWN = 0.8, 10, 100
"""Log-odds added for each factor of ten of lines run by failing tests: any of them may be
faulty."""
UNMEASURED = 0.4
"""Assumed share of unnoticed mutants if no mutant was tried."""
UNCOMPARED = 0.8
"""Log-odds added if no behaviour was observed beyond the tests."""
DEATHS = 0.8
"""Log-odds added for the share of candidates that passed the screen but failed held-out tests."""
IMMUNE = 1.5
"""Log-odds added for the share of mutants of the patched lines that no test notices."""
CONFIDENT = 0.6
"""Probability from which a fix is shown without asking a person."""
LEAD = 2.0
"""Required ratio to the probability of the next behaviour."""


def evidence_for(features: Features) -> float:
    """Return the log-odds of a behaviour."""
    return sum(WEIGHTS[name] * value for name, value in features.named().items())


def probabilities(
    behaviours: Sequence[Features], compared: SurvivorComparison | None
) -> tuple[float, ...]:
    """Return the probability of each behaviour; the rest to 1 is that none is right.

    Args:
        behaviours: Features of all surviving behaviours.
        compared: The search's comparison of the survivors.
    """
    none = none_of_them(compared)
    scores = [evidence_for(features) for features in behaviours]
    # Subtracting the maximum keeps exp() from overflowing.
    top = max([none, *scores])
    total = math.exp(none - top) + sum(math.exp(score - top) for score in scores)
    return tuple(math.exp(score - top) / total for score in scores)


def none_of_them(compared: SurvivorComparison | None) -> float:
    """Return the log-odds that no survivor is right."""
    if compared is None:
        return NONE_OF_THEM + UNCOMPARED + REACH
    lines = compared.failing_lines or LINES_UNKNOWN
    none = NONE_OF_THEM + REACH * math.log10(max(1.0, lines / FEW_LINES))
    none += IMMUNE * immune_share(compared) + (0.0 if compared.inputs else UNCOMPARED)
    # If many candidates overfit the visible tests, survivors may overfit, too.
    if compared.passed_screen > 0 and compared.held_out:
        none += DEATHS * (1.0 - min(1.0, compared.passed_held_out / compared.passed_screen))
    return none


def immune_share(compared: SurvivorComparison) -> float:
    """Return the share of mutants that survive the tests, or `UNMEASURED` if none was tried."""
    tried = sum(profile.mutants for profile in compared.profiles)
    killed = sum(profile.mutants_killed for profile in compared.profiles)
    return 1.0 - min(1.0, killed / tried) if tried else UNMEASURED


def is_confident(chances: Sequence[float]) -> bool:
    """Return True if the first behaviour is likely enough and clearly ahead of the others.

    Args:
        chances: Probabilities of the behaviours in their final order.
    """
    next_best = max(chances[1:], default=0.0)
    return chances[0] >= CONFIDENT and chances[0] >= LEAD * next_best
