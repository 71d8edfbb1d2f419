"""Confidence of a fix, and its calibration: Brier score, reliability curve, isotonic regression."""

from collections.abc import Sequence

from bot.domain.counted import counted
from bot.domain.lesson import Forecast
from bot.domain.mission import Confidence, MissionContext
from bot.domain.patch import Candidate, Rung, Verification
from sandbox.types import Frozen

MINIMUM_SAMPLE = 50
"""Outcomes needed before a confidence counts as calibrated."""
MINIMUM_PER_SIDE = 5
"""Merged and rejected fixes needed, each: a curve through one kind only is a guess."""
BINS = 10
"""Bins of the reliability curve."""

_START = {Rung.TOOLS: 0.95, Rung.SEARCH: 0.8, Rung.MODEL: 0.7}

_OWN_WEIGHT = 0.4
_ENOUGH_MUTANTS = 5
_FEW_NOTICED, _MOST_NOTICED = 0.5, 0.9


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


def is_enough(forecasts: Sequence[Forecast]) -> bool:
    """Return True if there are enough outcomes of both kinds for a calibration."""
    merged = sum(one.merged for one in forecasts)
    return (
        len(forecasts) >= MINIMUM_SAMPLE
        and min(merged, len(forecasts) - merged) >= MINIMUM_PER_SIDE
    )


def calibrate(value: float, forecasts: Sequence[Forecast]) -> float:
    """Return the share of merged fixes among similar forecasts, by isotonic regression.

    Algorithm: pool adjacent violators (Ayer et al., 1955).
    """
    pools: list[tuple[float, float, int]] = []  # highest forecast, merged, count
    for one in sorted(forecasts, key=lambda f: f.confidence):
        top, merged, count = one.confidence, float(one.merged), 1
        while pools and (pools[-1][0] == top or pools[-1][1] / pools[-1][2] >= merged / count):
            _, earlier_merged, earlier_count = pools.pop()
            merged, count = merged + earlier_merged, count + earlier_count
        pools.append((top, merged, count))
    if not pools:
        return value
    index = next((number for number, pool in enumerate(pools) if value <= pool[0]), len(pools) - 1)
    # Laplace's rule of succession keeps small pools from certainty; the maximum restores monotony.
    return max((merged + 1) / (count + 2) for _, merged, count in pools[: index + 1])


def confidence_by_rules(context: MissionContext) -> Confidence:
    """Return the confidence in a verified fix by rules.

    Its value is None if nothing was verified.
    """
    fix = context.fix
    if fix is None or not fix[1].runs or not fix[1].green:
        return Confidence(value=None)
    candidate, verification = fix
    factors = [f"rung {int(candidate.rung)} starts at {_START[candidate.rung]:.2f}"]
    value = _START[candidate.rung]
    for amount, factor in (*_doubts(candidate, verification), *_support(context, verification)):
        value += amount
        factors.append(f"{factor} ({amount:+.2f})")
    if not candidate.confident and candidate.score < value:
        # The total must not exceed the fixer's own confidence in a fix that it doubts.
        value = candidate.score
        factors.append(f"at most what {candidate.fixer} gives it ({value:.2f})")
    return Confidence(value=round(min(0.99, max(0.01, value)), 2), factors=tuple(factors))


def confidence_after(context: MissionContext, forecasts: Sequence[Forecast]) -> Confidence:
    """Return the confidence to show: calibrated if there are enough outcomes, else by rules."""
    heuristic = confidence_by_rules(context)
    if heuristic.value is None or not is_enough(forecasts):
        return heuristic
    factors = (
        *heuristic.factors,
        f"the rules give {heuristic.value:.2f}, corrected by {len(forecasts)} outcomes",
    )
    return Confidence(
        value=round(calibrate(heuristic.value, forecasts), 2), calibrated=True, factors=factors
    )


def _doubts(candidate: Candidate, verification: Verification) -> list[tuple[float, str]]:
    found = []
    if candidate.behaviours > 1:
        weight = -min(0.3, 0.1 * (candidate.behaviours - 1))
        found.append((weight, f"{candidate.behaviours} passing candidates behave differently"))
    found += _search_factors(candidate)
    for what, texts in (
        ("warning about the change", candidate.warnings),
        ("doubt of the verifier", verification.doubts),
    ):
        if texts:
            noun, _, about = what.partition(" ")
            found.append((-min(0.3, 0.1 * len(texts)), f"{counted(len(texts), noun)} {about}"))
    if len({run.report.verdict for run in verification.runs}) > 1:
        found.append((-0.4, "the fresh runs disagree"))
    return found


def _search_factors(candidate: Candidate) -> list[tuple[float, str]]:
    """Return confidence adjustments specific to search results: own rank and killed mutants."""
    found = []
    own = (
        round(_OWN_WEIGHT * (candidate.score - _START[Rung.SEARCH]), 2)
        if candidate.rung is Rung.SEARCH
        else 0.0
    )
    if own:
        found.append((own, "the rank that the search gives it"))
    mutants = candidate.mutants
    if mutants is not None and mutants.tried >= _ENOUGH_MUTANTS:
        text = f"the tests notice {mutants.killed} of {mutants.tried} mutants of the patched lines"
        share = mutants.killed / mutants.tried
        if share < _FEW_NOTICED:
            found.append((-0.1, text))
        elif share >= _MOST_NOTICED:
            found.append((0.05, text))
    return found


def _support(context: MissionContext, verification: Verification) -> list[tuple[float, str]]:
    found = []
    guards = max(len(run.report.passing) for run in verification.runs)
    turned = sum(
        change.before is not None and change.before != change.after for change in verification.table
    )
    if guards - turned < 1 and context.fix is not None and context.fix[0].rung is not Rung.TOOLS:
        found.append((-0.15, "no other test guards the change"))
    elif guards - turned >= 20:  # noqa: PLR2004 - many
        found.append((0.05, f"{guards - turned} other tests pass"))
    if turned > 1:
        found.append((0.05, f"{turned} failing tests agree on the change"))
    if any(r.reason == "same fingerprint" and r.lesson.fate == "merged" for r in context.lessons):
        found.append((0.05, "a fix of the same failure was merged before"))
    if any(r.reason == "same edit" and r.lesson.verdict for r in context.lessons):
        found.append((0.05, "people accepted the same edit at another place"))
    if any(
        r.reason == "same fingerprint" and r.lesson.fate in {"closed", "reverted"}
        for r in context.lessons
    ):
        found.append((-0.2, "a fix of the same failure was rejected before"))
    return found
