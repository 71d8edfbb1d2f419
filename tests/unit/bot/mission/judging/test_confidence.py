"""The arithmetic of confidence, number by number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.verdict import (
    Critique,
    CritiqueIssue,
    IssueCategory,
    MetaEvaluation,
    Recommendation,
    Route,
    Severity,
)
from bot.mission.judging.confidence import assess_confidence
from tests.builders import a_critique, a_meta

SCORES = st.floats(min_value=0.0, max_value=1.0)


def critique(
    overall: float, recommendation: Recommendation = Recommendation.APPROVE, *severities: Severity
) -> Critique:
    issues = tuple(
        CritiqueIssue(severity=severity, category=IssueCategory.LOGIC, description="wrong")
        for severity in severities
    )
    return a_critique(overall=overall, recommendation=recommendation, issues=issues)


def meta(score: float, *concerns: str, replan: bool = False) -> MetaEvaluation:
    return a_meta(
        reasoning_quality=score,
        confidence_in_reasoning=score,
        concerns=concerns,
        should_replan=replan,
    )


@pytest.mark.parametrize(
    ("thought", "plan", "critic", "question", "overall"),
    [
        (1.0, 1.0, critique(1.0), meta(1.0), 1.0),
        (1.0, 0.0, critique(0.0), meta(0.0), 0.3),
        (0.0, 1.0, critique(0.0), meta(0.0), 0.3),
        (0.0, 0.0, critique(1.0), meta(0.0), 0.2),
        (0.0, 0.0, critique(0.0), meta(1.0), 0.2),
        (0.8, 0.8, critique(0.8), meta(0.8), 0.8),
        # A missing verdict gives half of its weight to thought and half to plan.
        (1.0, 0.0, None, meta(0.0), 0.4),
        (0.0, 1.0, critique(0.0), None, 0.4),
        (1.0, 0.0, None, None, 0.5),
        (0.0, 1.0, None, None, 0.5),
        # 0.0 is a score, not a missing one.
        (1.0, 1.0, critique(0.0), meta(0.0), 0.6),
        (1.0, 1.0, None, None, 1.0),
        # Penalties.
        (1.0, 1.0, critique(1.0, Recommendation.APPROVE, Severity.CRITICAL), meta(1.0), 0.8),
        (
            1.0,
            1.0,
            critique(1.0, Recommendation.APPROVE, Severity.CRITICAL, Severity.CRITICAL),
            meta(1.0),
            0.6,
        ),
        (1.0, 1.0, critique(1.0, Recommendation.APPROVE, Severity.HIGH), meta(1.0), 1.0),
        (1.0, 1.0, critique(1.0), meta(1.0, "a"), 0.95),
        (1.0, 1.0, critique(1.0), meta(1.0, "a", "b", "c"), 0.85),
        (0.1, 0.1, critique(0.1, Recommendation.REJECT, Severity.CRITICAL), meta(0.1), 0.0),
    ],
)
def test_the_weighted_sum(
    thought: float,
    plan: float,
    critic: Critique | None,
    question: MetaEvaluation | None,
    overall: float,
) -> None:
    assert assess_confidence(thought, plan, critic, question).overall == pytest.approx(overall)


@pytest.mark.parametrize(
    ("score", "route"),
    [
        (1.0, Route.EXECUTE),
        (0.8, Route.EXECUTE),
        (0.79, Route.EXECUTE_WITH_CAUTION),
        (0.6, Route.EXECUTE_WITH_CAUTION),
        (0.59, Route.CLARIFY),
        (0.4, Route.CLARIFY),
        (0.39, Route.REPLAN),
        (0.2, Route.REPLAN),
        (0.19, Route.ESCALATE),
        (0.0, Route.ESCALATE),
    ],
)
def test_the_number_routes(score: float, route: Route) -> None:
    assert assess_confidence(score, score, critique(score), meta(score)).action is route
    assert assess_confidence(score, score).action is route


@pytest.mark.parametrize(
    ("score", "critic", "question", "route"),
    [
        (0.59, critique(0.59, Recommendation.REJECT), meta(0.59), Route.REPLAN),
        (0.6, critique(0.6, Recommendation.REJECT), meta(0.6), Route.EXECUTE_WITH_CAUTION),
        (0.05, critique(0.05, Recommendation.REJECT), meta(0.05), Route.REPLAN),
        (0.69, critique(0.69), meta(0.69, replan=True), Route.REPLAN),
        (0.7, critique(0.7), meta(0.7, replan=True), Route.EXECUTE_WITH_CAUTION),
        (0.05, critique(0.05), meta(0.05, replan=True), Route.REPLAN),
        (0.59, critique(0.59, Recommendation.REVISE), meta(0.59), Route.CLARIFY),
    ],
)
def test_a_rejection_or_a_wish_to_replan_comes_first(
    score: float, critic: Critique, question: MetaEvaluation, route: Route
) -> None:
    assert assess_confidence(score, score, critic, question).action is route


def test_risk_factors_are_named() -> None:
    found = assess_confidence(
        0.49,
        0.49,
        critique(0.59, Recommendation.REJECT, Severity.HIGH, Severity.CRITICAL),
        meta(0.5, "a", "b"),
    )
    assert found.risk_factors == (
        "low confidence in the diagnosis (0.49)",
        "low confidence in the plan (0.49)",
        "the critique is low (0.59)",
        "2 issues of high or critical severity",
        "2 concerns about the reasoning",
    )


def test_nothing_is_risky_from_the_thresholds_on() -> None:
    assert assess_confidence(0.5, 0.5, critique(0.6), meta(0.5)).risk_factors == ()


def test_a_missing_part_stays_missing_in_the_components() -> None:
    components = assess_confidence(0.5, 0.5).components
    assert components.critique is None
    assert components.meta is None
    zero = assess_confidence(0.5, 0.5, critique(0.0), meta(0.0)).components
    assert (zero.critique, zero.meta) == (0.0, 0.0)


@given(
    thought=SCORES,
    plan=SCORES,
    critic=st.none() | SCORES,
    question=st.none() | SCORES,
    severities=st.lists(st.sampled_from(Severity), max_size=6),
    concerns=st.integers(min_value=0, max_value=10),
    recommendation=st.sampled_from(Recommendation),
    replan=st.booleans(),
)
def test_confidence_is_a_probability_and_every_one_has_a_route(
    thought: float,
    plan: float,
    critic: float | None,
    question: float | None,
    severities: list[Severity],
    concerns: int,
    recommendation: Recommendation,
    *,
    replan: bool,
) -> None:
    found = assess_confidence(
        thought,
        plan,
        None if critic is None else critique(critic, recommendation, *severities),
        None if question is None else meta(question, *map(str, range(concerns)), replan=replan),
    )
    assert 0.0 <= found.overall <= 1.0
    assert found.action in Route
    assert found == type(found).model_validate_json(found.model_dump_json())
