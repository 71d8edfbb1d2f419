"""Estimate how likely each behaviour is right: a conditional logit with a "none of them" class."""

import math
from collections.abc import Mapping, Sequence

from bot.fixers.rung1_search.rank_features import Features
from sandbox.types import SurvivorComparison

WEIGHTS: Mapping[str, float] = {
    "cost": -0.6,
    "dearer": -1.2,
    "written": 0.0,
    "unsuspected": -1.6,
    "size": -0.02,
    "branches": -0.5,
    "agreement": 0.6,
    "second_edit": -0.7,
    "changed_passing": -3.0,
    "changed_neighbours": -1.0,
    "narrow": -0.05,
    "new_errors": -1.9,
    "changed_types": -2.0,
    "surprise": -0.4,
    "donor": 1.3,
    "examples_failed": -4.4,
    "examples_unmet": -1.0,
    "examples_kept": 1.0,
    "held_out_failed": -5.0,
    "side_effects": -1.0,
    "unguarded": -0.02,
    "borrowed": -0.7,
    "doubts": -0.7,
    "symptom": -1.2,
    "undoes": 1.5,
    "accepted": 1.5,
    "uncompared": 0.0,
    "alive": 0.0,
    "unrun": 0.0,
    "run_once": 0.0,
}
"""Log-odds for one unit of each feature.

The signs are explained in docs/reference/repair.md. The values were set by hand, then fitted on
development sets and rounded. The fit saw every search twice: as it was, and with the right fix
removed, because in a whole repository the right fix is often missing. `narrow`, `unguarded`,
`branches` and `examples_unmet` are weak: they decide between equals. `undoes` and `accepted` are
set by hand: the sets have no red diff and no earlier missions. `alive`, `unrun` and `run_once`
weigh for written changes only: no search was fitted with them.
"""

WRITTEN_WEIGHTS: Mapping[str, float] = {
    "cost": 0.0,
    "dearer": 0.0,
    "written": 2.1,
    "unsuspected": -1.6,
    "size": 0.0,
    "branches": -1.2,
    "agreement": 0.6,
    "second_edit": -0.7,
    "changed_passing": -3.0,
    "changed_neighbours": -0.2,
    "narrow": -2.9,
    "new_errors": -1.7,
    "changed_types": -2.0,
    "surprise": -0.5,
    "donor": 1.3,
    "examples_failed": -4.5,
    "examples_unmet": -2.2,
    "examples_kept": 0.2,
    "held_out_failed": -5.0,
    "side_effects": -1.0,
    "unguarded": -0.02,
    "borrowed": -2.8,
    "doubts": -0.9,
    "symptom": -0.9,
    "undoes": 1.5,
    "accepted": 1.5,
    "uncompared": 0.0,
    "alive": -0.36,
    "unrun": -0.7,
    "run_once": -1.6,
    "agreeing_tests": 0.45,
    "reach": 0.6,
}
"""The same for written changes: of a model, an agent or a person.

Fitted by `python -m benchmarks.belief fit` on two thirds of the bugs, and rounded. The search
proposes what its templates make likely, so the same evidence weighs differently there. The size of
a change weighs nothing: models rewrite whole functions. `agreement` is that of the search,
since the corpus cannot show how often answers agree by chance. `uncompared` weighs nothing; see
`is_observed`.
"""

NONE: Mapping[str, float] = {
    "start": -3.0,
    "reach": 0.8,
    "uncompared": 0.8,
    "deaths": 0.8,
    "immune": 1.5,
    "agreeing_tests": 0.0,
}
"""Log-odds that no survivor is right, for one unit of each feature of the whole search."""
FEW_LINES, LINES_UNKNOWN = 10, 100
OF_THE_WHOLE = ("agreeing_tests", "reach")
"""Features of the whole search that weigh for written changes."""
MOST_AGREEING = 16
"""Failing tests that count as agreeing on a fix."""
UNMEASURED = 0.4
"""Assumed share of unnoticed mutants if no mutant was tried."""
CONFIDENT, WRITTEN_CONFIDENT = 0.6, 0.8
"""Probabilities from which a searched and a written fix are shown without asking a person."""
LEAD = 2.0
"""Required ratio to the probability of the next behaviour."""


def evidence_for(features: Features, compared: SurvivorComparison | None = None) -> float:
    """Return the log-odds of a behaviour.

    Args:
        features: Features of the behaviour.
        compared: The search's comparison of the survivors.
    """
    weights = WRITTEN_WEIGHTS if features.written else WEIGHTS
    named = features_of(features, none_features(compared))
    return sum(weights[name] * value for name, value in named.items())


def features_of(features: Features, whole: Mapping[str, float]) -> dict[str, float]:
    """Return the features that weigh for a behaviour, by the names of their weights.

    Args:
        features: Features of the behaviour.
        whole: Features of the whole search.
    """
    named = features.named()
    if features.written:
        named |= {name: whole.get(name, 0.0) for name in OF_THE_WHOLE}
    return named


def probabilities(
    behaviours: Sequence[Features], compared: SurvivorComparison | None
) -> tuple[float, ...]:
    """Return the probability of each behaviour; the rest to 1 is that none is right.

    Args:
        behaviours: Features of all surviving behaviours.
        compared: The search's comparison of the survivors.
    """
    none = none_of_them(compared)
    scores = [evidence_for(features, compared) for features in behaviours]
    # Subtracting the maximum keeps exp() from overflowing.
    top = max([none, *scores])
    total = math.exp(none - top) + sum(math.exp(score - top) for score in scores)
    return tuple(math.exp(score - top) / total for score in scores)


def none_of_them(compared: SurvivorComparison | None) -> float:
    """Return the log-odds that no survivor is right."""
    return sum(NONE[name] * value for name, value in none_features(compared).items())


def none_features(compared: SurvivorComparison | None) -> dict[str, float]:
    """Return the features of a whole search, by the names of their weights.

    `reach` is a factor of ten of lines run by failing tests, any of which may be faulty. `deaths`
    is the share of candidates that passed the screen but failed held-out tests: survivors may
    overfit, too. `immune` is the share of mutants of the patched lines that no test notices.

    Args:
        compared: The search's comparison of the survivors.
    """
    if compared is None:
        return {"start": 1.0, "reach": 1.0, "uncompared": 1.0}
    lines = compared.failing_lines or LINES_UNKNOWN
    screened = compared.passed_screen > 0 and compared.held_out > 0
    passed = compared.passed_held_out / compared.passed_screen if screened else 1.0
    return {
        "start": 1.0,
        "reach": math.log10(max(1.0, lines / FEW_LINES)),
        "uncompared": 0.0 if compared.inputs else 1.0,
        "deaths": 1.0 - min(1.0, passed),
        "immune": immune_share(compared),
        "agreeing_tests": math.log2(max(1, min(compared.failing, MOST_AGREEING))),
    }


def immune_share(compared: SurvivorComparison) -> float:
    """Return the share of mutants that survive the tests, or `UNMEASURED` if none was tried."""
    tried = sum(profile.mutants for profile in compared.profiles)
    killed = sum(profile.mutants_killed for profile in compared.profiles)
    return 1.0 - min(1.0, killed / tried) if tried else UNMEASURED


def is_confident(chances: Sequence[float], *, gate: float = CONFIDENT) -> bool:
    """Return True if the first behaviour is likely enough and clearly ahead of the others.

    Args:
        chances: Probabilities of the behaviours in their final order.
        gate: Probability from which the first is likely enough.
    """
    next_best = max(chances[1:], default=0.0)
    return chances[0] >= gate and chances[0] >= LEAD * next_best


def is_observed(features: Features, whole: Mapping[str, float]) -> bool:
    """Return True if enough of a behaviour was observed to offer it without a question.

    What was not observed counts as harmless in its features, which the change or the repository
    could provoke. A searched change may be offered where no change at all could be compared: its
    template is known, and `uncompared` of the whole search weighs against it.

    Args:
        features: Features of the behaviour.
        whole: Features of the whole search.
    """
    if not features.uncompared:
        return True
    return not features.written and whole["uncompared"] > 0.0


def gate_for(*, written: bool) -> float:
    """Return the probability from which a fix is shown without asking a person."""
    return WRITTEN_CONFIDENT if written else CONFIDENT
