"""Confidence after verification, and whether such numbers can be trusted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.lesson import Correction, Forecast
from bot.domain.mission import Outcome
from bot.domain.patch import Rung, VerifiedRun
from bot.lessons.calibration import (
    TOOL_START,
    brier_score,
    confidence_after,
    confidence_by_rules,
    learn_correction,
    reliability_curve,
)
from sandbox.types import RunVerdict
from tests.builders import (
    a_candidate,
    a_green_report,
    a_lesson,
    a_mission,
    a_recalled_lesson,
    a_report,
    a_verification,
    an_iteration,
)


def forecasts(*pairs: tuple[float, bool]) -> tuple[Forecast, ...]:
    return tuple(Forecast(confidence=value, merged=merged) for value, merged in pairs)


def value(**changes: object) -> float:
    confidence = confidence_by_rules(a_mission(iterations=(an_iteration(**changes),)))
    assert confidence.value is not None
    return confidence.value


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.FIXED])
def test_it_abstains_when_nothing_was_verified(outcome: Outcome) -> None:
    assert confidence_by_rules(a_mission(outcome)).value is None


def test_it_abstains_without_a_single_run() -> None:
    mission = a_mission(iterations=(an_iteration(verification=a_verification(runs=())),))
    assert confidence_by_rules(mission).value is None


def test_it_is_the_calibrated_rank_and_says_so() -> None:
    confidence = confidence_by_rules(a_mission())
    assert confidence.value == 0.8
    assert confidence.calibrated is True
    assert confidence.factors == ("its rank starts at 0.80",)


def test_a_change_that_was_not_compared_is_not_called_calibrated() -> None:
    written = a_candidate(ranked=False, score=0.4)
    confidence = confidence_by_rules(a_mission(iterations=(an_iteration(candidate=written),)))
    assert (confidence.value, confidence.calibrated) == (0.4, False)
    compared = written.with_(ranked=True)
    assert confidence_by_rules(a_mission(iterations=(an_iteration(candidate=compared),))).calibrated


def test_doubts_lower_it() -> None:
    plain = value()
    assert value(verification=a_verification(doubts=("slow",))) < plain
    # The rank knows its rivals and warnings.
    assert value(candidate=a_candidate(behaviours=3, warnings=("constant condition",))) == plain
    unranked = a_candidate(ranked=False)
    assert value(candidate=unranked.with_(warnings=("a new file",))) < value(candidate=unranked)
    recalled = unranked.with_(recalled_from="m-1")
    assert value(candidate=recalled.with_(warnings=("constant",))) == value(candidate=recalled)
    red = VerifiedRun(label="other order", report=a_report(verdict=RunVerdict.FAIL))
    assert value(verification=a_verification(runs=(*a_verification().runs, red))) < plain
    alone = a_green_report(outcomes={"tests/test_math.py::test_add": "pass"})
    runs = (VerifiedRun(label="full command", report=alone),)
    assert value(verification=a_verification(runs=runs)) < plain


def test_what_the_search_thinks_of_its_own_fix_counts() -> None:
    unsure, plain, sure = (value(candidate=a_candidate(score=score)) for score in (0.5, 0.8, 0.95))
    assert unsure < plain < sure


def test_a_trusted_tool_starts_higher_and_memory_counts() -> None:
    assert value(candidate=a_candidate(rung=Rung.TOOLS)) == TOOL_START > value()
    merged = a_recalled_lesson(lesson=a_lesson(fate="merged"))
    rejected = a_recalled_lesson(lesson=a_lesson(fate="reverted"))
    plain, better, worse = (
        confidence_by_rules(a_mission(lessons=lessons)).value or 0.0
        for lessons in ((), (merged,), (rejected,))
    )
    assert worse < plain < better


def test_the_brier_score_of_certainty_and_of_guessing() -> None:
    assert brier_score(()) is None
    assert brier_score(forecasts((1.0, True), (0.0, False))) == 0.0
    assert brier_score(forecasts((0.5, True), (0.5, False))) == 0.25
    assert brier_score(forecasts((1.0, False))) == 1.0


def test_the_reliability_curve_counts_per_bin() -> None:
    curve = reliability_curve(
        forecasts((0.81, True), (0.85, False), (0.89, True), (1.0, True), (0.0, False))
    )
    assert [(b.low, b.count) for b in curve] == [(0.0, 1), (0.8, 3), (0.9, 1)]
    assert curve[1].mean_forecast == pytest.approx(0.85)
    assert curve[1].merged_share == pytest.approx(2 / 3)


def test_without_outcomes_nothing_is_corrected() -> None:
    assert learn_correction(()) == Correction()
    assert confidence_after(a_mission(), Correction()) == confidence_by_rules(a_mission())


def test_outcomes_move_the_confidence_the_more_of_them_there_are() -> None:
    def after(count: int) -> float:
        history = learn_correction(forecasts(*[(0.8, True), (0.8, False)] * count))
        return confidence_after(a_mission(), history).value or 0.0

    assert 0.8 > after(1) > after(5) > after(50) > 0.5
    assert after(1) > 0.7, "two outcomes say little"
    assert after(200) < 0.56


def test_outcomes_as_forecast_change_little() -> None:
    history = learn_correction(forecasts(*[(0.8, True)] * 40, *[(0.8, False)] * 10))
    confidence = confidence_after(a_mission(), history)
    assert confidence.value == pytest.approx(0.8, abs=0.02)
    assert confidence.outcomes == 50
    assert "50 outcomes" in confidence.factors[-1]


def test_nothing_verified_stays_without_a_number_however_many_outcomes() -> None:
    history = learn_correction(forecasts(*[(0.8, True)] * 60, *[(0.2, False)] * 60))
    assert confidence_after(a_mission(Outcome.NO_FIX), history).value is None


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=80),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_a_correction_keeps_the_order_and_stays_a_probability(
    pairs: list[tuple[float, bool]], one: float, other: float
) -> None:
    correction = learn_correction(forecasts(*pairs))
    low, high = sorted((one, other))
    assert 0.0 <= correction.apply(low) <= correction.apply(high) <= 1.0
