"""CONFIDENCE: one number from all judgements, and the route it allows. Arithmetic only."""

from bot.domain.verdict import (
    CONCERN_PENALTY,
    CRITICAL_PENALTY,
    ConfidenceAssessment,
    ConfidenceComponents,
    Critique,
    MetaEvaluation,
    Recommendation,
    Route,
    Severity,
)

# The weights add up to 1, so that the sum stays a confidence.
_THOUGHT_WEIGHT = 0.3
_PLAN_WEIGHT = 0.3
_CRITIQUE_WEIGHT = 0.2
_META_WEIGHT = 0.2
_REJECTED_REPLANS_BELOW = 0.6
_META_REPLANS_BELOW = 0.7
# The lower bound of each route, as in docs/explanation/mission.md.
_ROUTES = (
    (0.8, Route.EXECUTE),
    (0.6, Route.EXECUTE_WITH_CAUTION),
    (0.4, Route.CLARIFY),
    (0.2, Route.REPLAN),
)
_RISKY_THOUGHT = 0.5
_RISKY_PLAN = 0.5
_RISKY_CRITIQUE = 0.6
_DIGITS = 9
"""Decimal digits kept, so that a sum of tenths meets a threshold of 0.8 exactly."""


def assess_confidence(
    thought: float,
    plan: float,
    critique: Critique | None = None,
    meta: MetaEvaluation | None = None,
) -> ConfidenceAssessment:
    """Return one confidence from all judgements, before anything is executed.

    Args:
        thought: Confidence in the diagnosis.
        plan: Confidence in the plan.
        critique: Score of the critique; None without one. 0.0 is a score.
        meta: Score of the meta-evaluation; None without one. 0.0 is a score.
    """
    components = ConfidenceComponents(
        thought=thought,
        plan=plan,
        critique=None if critique is None else critique.overall,
        meta=None if meta is None else meta.confidence_in_reasoning,
    )
    critical = _issues(critique, Severity.CRITICAL)
    concerns = len(meta.concerns) if meta else 0
    penalty = CRITICAL_PENALTY * critical + CONCERN_PENALTY * concerns
    overall = round(min(1.0, max(0.0, _weighted(components) - penalty)), _DIGITS)
    action, why = _route(overall, critique, meta)
    return ConfidenceAssessment(
        overall=overall,
        components=components,
        action=action,
        reasoning=(
            f"{_formula(components)}{f' - {penalty:.2f} penalties' if penalty else ''} = "
            f"{overall:.2f}; {why}"
        ),
        risk_factors=_risks(components, critique, concerns),
    )


def _weighted(parts: ConfidenceComponents) -> float:
    """Return the weighted sum. Half the weight of a missing part goes to thought, half to plan."""
    thought, plan, total = _THOUGHT_WEIGHT, _PLAN_WEIGHT, 0.0
    for score, weight in ((parts.critique, _CRITIQUE_WEIGHT), (parts.meta, _META_WEIGHT)):
        if score is None:
            thought += weight / 2
            plan += weight / 2
        else:
            total += weight * score
    return total + thought * parts.thought + plan * parts.plan


def _route(
    overall: float, critique: Critique | None, meta: MetaEvaluation | None
) -> tuple[Route, str]:
    """Return the route that the number allows, and the rule that decided it."""
    # A rejected plan may still run if everything else is sure: then only its score counts.
    if (
        critique
        and critique.recommendation is Recommendation.REJECT
        and overall < _REJECTED_REPLANS_BELOW
    ):
        return Route.REPLAN, "the critic rejects the plan"
    if meta and meta.should_replan and overall < _META_REPLANS_BELOW:
        return Route.REPLAN, "the reasoning asks for another plan"
    for threshold, route in _ROUTES:
        if overall >= threshold:
            return route, f"from {threshold} on: {route.value}"
    return Route.ESCALATE, f"below {_ROUTES[-1][0]}: {Route.ESCALATE.value}"


def _issues(critique: Critique | None, *severities: Severity) -> int:
    """Return the number of issues with these severities."""
    return sum(issue.severity in severities for issue in critique.issues) if critique else 0


def _risks(
    parts: ConfidenceComponents, critique: Critique | None, concerns: int
) -> tuple[str, ...]:
    """Return the risks in words."""
    severe = _issues(critique, Severity.HIGH, Severity.CRITICAL)
    risks = (
        (parts.thought < _RISKY_THOUGHT, f"low confidence in the diagnosis ({parts.thought:.2f})"),
        (parts.plan < _RISKY_PLAN, f"low confidence in the plan ({parts.plan:.2f})"),
        (
            parts.critique is not None and parts.critique < _RISKY_CRITIQUE,
            f"the critique is low ({parts.critique or 0.0:.2f})",
        ),
        (severe > 0, f"{severe} issue{'s' * (severe != 1)} of high or critical severity"),
        (concerns > 0, f"{concerns} concern{'s' * (concerns != 1)} about the reasoning"),
    )
    return tuple(words for applies, words in risks if applies)


def _formula(parts: ConfidenceComponents) -> str:
    """Return the components for a reader."""
    named = (
        ("thought", parts.thought),
        ("plan", parts.plan),
        ("critique", parts.critique),
        ("meta", parts.meta),
    )
    return ", ".join(
        f"{name} {'missing' if score is None else f'{score:.2f}'}" for name, score in named
    )
