"""Confidence of a verified fix: its rank, what verification adds, and the outcomes of earlier ones.

The ranking's probability is calibrated on the changes of `benchmarks/belief`. The outcomes of an
installation correct it. Without outcomes it stays as it is.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bot.domain.counted import counted
from bot.domain.lesson import (
    LEAST_SLOPE,
    MOST_SLOPE,
    Correction,
    Forecast,
    bounded_odds,
    log_odds,
    probability,
    within,
)
from bot.domain.mission import Confidence, MissionContext
from bot.domain.patch import Candidate, Rung, Verification
from sandbox.types import Frozen

BINS = 10
"""Bins of the reliability curve."""

TOOL_START = 0.95
"""Probability that a fix of an autofix tool is right. The tool's own rule proves it, not a rank."""

SHIFT_SPREAD, SLOPE_SPREAD = 0.5, 0.2
"""Standard deviations, in log-odds, of what an installation's outcomes are expected to correct."""
LEAST_OUTCOMES, LEAST_REPOSITORIES = 10, 3
"""Outcomes, and repositories that they come from, before anything is corrected."""
_STEPS = 30
_DOUBT, _MOST_DOUBTS = -0.5, 3
_DISAGREE = -2.5
_ALONE = -0.4
_GUARDED, _MANY = 0.2, 20
_ACCEPTED, _REFUSED = 0.4, -1.2
_PRAISE, _PRAISED_FROM = 0.4, 0.8
"""Log-odds of what verification and memory add. Set by hand: the corpus has neither."""


class ReliabilityBin(Frozen):
    """A bin of the reliability curve: forecasts of similar value, and their outcomes."""

    low: float
    high: float
    count: int
    mean_forecast: float
    merged_share: float


def brier_score(forecasts: Sequence[Forecast]) -> float | None:
    """Return the forecasts' mean squared error, or None without forecasts.

    0 is perfect; forecasts of 0.5 always get 0.25.
    """
    if not forecasts:
        return None
    return sum((one.confidence - one.merged) ** 2 for one in forecasts) / len(forecasts)


def reliability_curve(
    forecasts: Sequence[Forecast], *, bins: int = BINS
) -> tuple[ReliabilityBin, ...]:
    """Return the non-empty bins of equal width, lowest first."""
    filled: dict[int, list[Forecast]] = {}
    for one in forecasts:
        filled.setdefault(min(bins - 1, int(one.confidence * bins)), []).append(one)
    return tuple(
        ReliabilityBin(
            low=index / bins,
            high=(index + 1) / bins,
            count=len(ones),
            mean_forecast=sum(one.confidence for one in ones) / len(ones),
            merged_share=sum(one.merged for one in ones) / len(ones),
        )
        for index, ones in sorted(filled.items())
    )


def learn_correction(by_repository: Iterable[Sequence[Forecast]]) -> Correction:
    """Return the most likely correction, or none if too few outcomes or owners are known.

    So that no owner decides for the others, the repository that moves the correction most is left
    out, and the n outcomes of any other weigh only as much as the square root of n.

    Args:
        by_repository: Ranks and what became of their fixes, for each repository.
    """
    groups = [_weighed(found) for found in by_repository if found]
    if len(groups) < LEAST_REPOSITORIES or sum(map(len, groups)) < LEAST_OUTCOMES:
        return Correction()
    groups.sort(key=_pull)
    return _fit_line([point for group in groups[:-1] for point in group])


@dataclass(frozen=True)
class _Point:
    """An outcome: the rank in log-odds, 1 if the fix was merged, and its weight."""

    odds: float
    merged: float
    weight: float


def _weighed(found: Sequence[Forecast]) -> list[_Point]:
    weight = 1.0 / math.sqrt(len(found))
    return [
        _Point(bounded_odds(log_odds(one.confidence)), float(one.merged), weight) for one in found
    ]


def _pull(group: Sequence[_Point]) -> float:
    """Return how far the outcomes of a repository are from what their ranks promised."""
    return abs(sum(one.weight * (one.merged - probability(one.odds)) for one in group))


def _fit_line(points: Sequence[_Point]) -> Correction:
    """Return the most likely line through outcomes, given the expectation of no correction.

    Algorithm: Platt scaling with a normal prior around the identity, by Newton's method.
    """
    shift, slope = 0.0, 1.0
    for _ in range(_STEPS):
        down, tilt = shift / SHIFT_SPREAD**2, (slope - 1.0) / SLOPE_SPREAD**2
        one, both, square = 1.0 / SHIFT_SPREAD**2, 0.0, 1.0 / SLOPE_SPREAD**2
        for point in points:
            chance = probability(shift + slope * point.odds)
            error = point.weight * (chance - point.merged)
            weight = point.weight * chance * (1.0 - chance)
            down, tilt = down + error, tilt + error * point.odds
            one, both = one + weight, both + weight * point.odds
            square += weight * point.odds * point.odds
        steeper = (both * down - one * tilt) / (one * square - both * both)
        moved = max(LEAST_SLOPE, min(MOST_SLOPE, slope + _bounded(steeper)))
        # The best shift for that slope, also where a bound stopped it.
        shift -= _bounded((down + both * (moved - slope)) / one)
        slope = moved
    return Correction(shift=shift, slope=slope, outcomes=len(points))


def confidence_by_rules(context: MissionContext) -> Confidence:
    """Return the confidence in a verified fix before any correction by outcomes.

    Its value is None if nothing was verified.
    """
    return confidence_after(context, Correction())


def confidence_after(context: MissionContext, correction: Correction) -> Confidence:
    """Return the confidence to show, with the rank corrected by this installation's outcomes.

    Its value is None if nothing was verified.
    """
    fix = context.fix
    if fix is None or not fix[1].runs or not fix[1].green:
        return Confidence(value=None)
    candidate, verification = fix
    start, factor = _start(candidate)
    factors = [factor]
    outcomes = correction.outcomes if candidate.ranked else 0
    value = round(correction.apply(start), 4) if outcomes else start
    if outcomes:
        learned = counted(outcomes, "outcome")
        factors.append(f"corrected by {learned} in this installation ({value - start:+.2f})")
    most = min(candidate.score, value)
    for amount, factor in (*_verified(candidate, verification), *_remembered(context)):
        moved = probability(log_odds(value) + amount)
        factors.append(f"{factor} ({moved - value:+.2f})")
        value = moved
    if not candidate.confident and most < value:
        # The total must not exceed the fixer's own confidence in a fix that it doubts.
        value = most
        factors.append(f"at most what {candidate.fixer} gives it ({value:.2f})")
    return Confidence(
        value=round(within(value), 2),
        calibrated=candidate.ranked,
        outcomes=outcomes,
        factors=tuple(factors),
    )


def _bounded(step: float) -> float:
    """Return a step of at most 1, so that few outcomes cannot make the search diverge."""
    return max(-1.0, min(1.0, step))


def _start(candidate: Candidate) -> tuple[float, str]:
    """Return the probability before verification, and where it comes from."""
    if candidate.rung is Rung.TOOLS:
        return TOOL_START, f"a fix of {candidate.fixer} starts at {TOOL_START:.2f}"
    source = "its rank" if candidate.ranked else "a change whose behaviour was not compared"
    if candidate.recalled_from and not candidate.ranked:
        source = "a recalled fix"
    return candidate.score, f"{source} starts at {candidate.score:.2f}"


def _verified(candidate: Candidate, verification: Verification) -> list[tuple[float, str]]:
    """Return what verification adds to the rank, in log-odds."""
    found = []
    # The rank knows its rivals already, on which verification has one doubt.
    known = candidate.ranked and candidate.behaviours > 1
    doubts = max(0, len(verification.doubts) - known)
    if doubts:
        amount = _DOUBT * min(_MOST_DOUBTS, doubts)
        found.append((amount, f"{counted(doubts, 'doubt')} of the verifier"))
    if candidate.warnings and not (candidate.ranked or candidate.recalled_from):
        amount = _DOUBT * min(_MOST_DOUBTS, len(candidate.warnings))
        found.append((amount, f"{counted(len(candidate.warnings), 'warning')} about the change"))
    if len({run.report.verdict for run in verification.runs}) > 1:
        found.append((_DISAGREE, "the fresh runs disagree"))
    guards = max(len(run.report.passing) for run in verification.runs)
    guards -= sum(one.before is not None and one.before != one.after for one in verification.table)
    if guards < 1 and candidate.rung is not Rung.TOOLS:
        found.append((_ALONE, "no other test guards the change"))
    elif guards >= _MANY:
        found.append((_GUARDED, f"{guards} other tests pass"))
    review = verification.review
    if review is not None and (review.score or 0.0) >= _PRAISED_FROM:
        found.append((_PRAISE, "a model's review found nothing against it"))
    return found


def _remembered(context: MissionContext) -> list[tuple[float, str]]:
    """Return what people's earlier decisions add, in log-odds."""
    same = [one.lesson.fate for one in context.lessons if one.reason == "same fingerprint"]
    found = []
    if "merged" in same:
        found.append((_ACCEPTED, "a fix of the same failure was merged before"))
    if any(one.reason == "same edit" and one.lesson.verdict for one in context.lessons):
        found.append((_ACCEPTED, "people accepted the same edit at another place"))
    if {"closed", "reverted"} & set(same):
        found.append((_REFUSED, "a fix of the same failure was rejected before"))
    return found
