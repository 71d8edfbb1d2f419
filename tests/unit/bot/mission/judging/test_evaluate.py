"""Meta-evaluation: the quick check, its thresholds, and the live assessment of a thought."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.verdict import LiveAssessment, Recommendation, Thought
from bot.mission.judging.evaluate import (
    adjusted,
    assess_live,
    evaluate_reasoning,
    may_proceed,
    quick_confidence,
)
from tests.builders import a_critique, a_diagnosis, a_plan

SCORES = st.floats(min_value=0.0, max_value=1.0)


@pytest.mark.parametrize(
    ("thought", "plan", "critique", "mean"),
    [
        (0.8, 0.6, None, 0.7),
        (0.8, 0.6, 0.9, 0.8),
        (0.8, 0.6, 0.0, 0.35),
        (0.0, 0.0, None, 0.0),
        (1.0, 1.0, 1.0, 1.0),
    ],
)
def test_the_quick_check_is_a_mean_of_means(
    thought: float, plan: float, critique: float | None, mean: float
) -> None:
    assert quick_confidence(thought, plan, critique) == pytest.approx(mean)


@pytest.mark.parametrize(
    ("confidence", "goes_on"), [(0.6, True), (0.59, False), (1.0, True), (0.0, False)]
)
def test_proceed_from_six(confidence: float, *, goes_on: bool) -> None:
    assert may_proceed(confidence) is goes_on


@pytest.mark.parametrize(
    ("score", "replan", "deeper", "passes"),
    [
        (0.9, False, False, 1),
        (0.7, False, False, 1),
        (0.69, False, True, 2),
        (0.6, False, True, 2),
        (0.59, True, True, 3),
    ],
)
def test_replan_below_six_and_think_deeper_below_seven(
    score: float, *, replan: bool, deeper: bool, passes: int
) -> None:
    found = evaluate_reasoning(
        a_diagnosis(confidence=score), a_plan(confidence=score), a_critique(overall=score)
    )
    assert found.reasoning_quality == pytest.approx(score)
    assert (found.should_replan, found.should_think_deeper, found.passes_recommended) == (
        replan,
        deeper,
        passes,
    )


def test_doubts_are_concerns() -> None:
    found = evaluate_reasoning(
        a_diagnosis(suspects=(), failures=(), confidence=0.1),
        a_plan(acceptance_criteria=(), confidence=0.9),
        a_critique(recommendation=Recommendation.REJECT),
    )
    assert len(found.concerns) == 5


def test_sound_reasoning_raises_no_concern() -> None:
    assert evaluate_reasoning(a_diagnosis(), a_plan(), a_critique()).concerns == ()


@pytest.mark.parametrize(
    ("confidence", "adjustment", "after"),
    [
        (0.5, 1.0, 0.7),
        (0.5, -1.0, 0.3),
        (0.9, 1.0, 1.0),
        (0.1, -1.0, 0.0),
        (0.5, 0.0, 0.5),
        (0.5, 0.5, 0.6),
    ],
)
def test_a_live_assessment_moves_the_confidence_by_a_fifth(
    confidence: float, adjustment: float, after: float
) -> None:
    live = LiveAssessment(
        should_continue=True, should_deepen=False, confidence_adjustment=adjustment
    )
    assert adjusted(confidence, live) == pytest.approx(after)


@given(confidence=SCORES, adjustment=st.floats(min_value=-1.0, max_value=1.0))
def test_an_adjusted_confidence_stays_a_probability(confidence: float, adjustment: float) -> None:
    live = LiveAssessment(
        should_continue=True, should_deepen=False, confidence_adjustment=adjustment
    )
    assert 0.0 <= adjusted(confidence, live) <= 1.0


def test_a_thought_without_suspects_wants_another_pass() -> None:
    live = assess_live(Thought(reasoning="", confidence=0.9), a_diagnosis(suspects=()))
    assert live.should_deepen
    assert live.should_continue
    assert live.confidence_adjustment < 0


def test_a_sure_thought_ends_thinking() -> None:
    live = assess_live(Thought(reasoning="", confidence=0.9), a_diagnosis())
    assert not live.should_deepen
    assert not live.should_continue
    assert live.confidence_adjustment > 0


def test_nothing_to_deepen_stops() -> None:
    live = assess_live(Thought(reasoning="", confidence=0.2), a_diagnosis(suspects=(), failures=()))
    assert live.should_deepen
    assert not live.should_continue
