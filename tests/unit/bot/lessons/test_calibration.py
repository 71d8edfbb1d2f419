"""Confidence after verification, and whether such numbers can be trusted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.lesson import Forecast
from bot.domain.mission import Outcome
from bot.domain.patch import Mutants, Rung, VerifiedRun
from bot.lessons.calibration import (
    MINIMUM_SAMPLE,
    brier_score,
    calibrate,
    confidence_after,
    confidence_by_rules,
    is_enough,
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


def test_the_number_is_named_uncalibrated_and_says_what_counted() -> None:
    confidence = confidence_by_rules(a_mission())
    assert confidence.value == 0.8
    assert confidence.calibrated is False
    assert confidence.factors == ("rung 1 starts at 0.80",)


def test_doubts_lower_it() -> None:
    plain = value()
    assert value(candidate=a_candidate(behaviours=3)) < plain
    assert value(candidate=a_candidate(warnings=("constant condition",))) < plain
    assert value(verification=a_verification(doubts=("slow",))) < plain
    red = VerifiedRun(label="other order", report=a_report(verdict=RunVerdict.FAIL))
    assert value(verification=a_verification(runs=(*a_verification().runs, red))) < plain
    alone = a_green_report(outcomes={"tests/test_math.py::test_add": "pass"})
    runs = (VerifiedRun(label="full command", report=alone),)
    assert value(verification=a_verification(runs=runs)) < plain


def test_what_the_search_thinks_of_its_own_fix_counts() -> None:
    unsure, plain, sure = (value(candidate=a_candidate(score=score)) for score in (0.5, 0.8, 0.95))
    assert unsure < plain < sure


def test_tests_that_notice_no_mutant_of_the_patched_lines_lower_it() -> None:
    blind, some, strict = (
        value(candidate=a_candidate(mutants=Mutants(tried=20, killed=killed)))
        for killed in (2, 14, 20)
    )
    assert blind < some < strict
    assert value(candidate=a_candidate(mutants=Mutants(tried=2, killed=0))) == some


def test_a_trusted_tool_starts_higher_and_memory_counts() -> None:
    assert value(candidate=a_candidate(rung=Rung.TOOLS)) > value()
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


def test_too_few_outcomes_do_not_calibrate() -> None:
    few = forecasts(*[(0.8, True)] * (MINIMUM_SAMPLE - 1))
    one_sided = forecasts(*[(0.8, True)] * 100)
    assert not is_enough(few)
    assert not is_enough(one_sided)
    assert confidence_after(a_mission(), few) == confidence_by_rules(a_mission())
    assert confidence_after(a_mission(), one_sided).calibrated is False


def test_enough_outcomes_correct_the_rules() -> None:
    history = forecasts(*[(0.8, True)] * 30, *[(0.8, False)] * 30)
    confidence = confidence_after(a_mission(), history)
    assert confidence.calibrated is True
    assert confidence.value == 0.5
    assert "60 outcomes" in confidence.factors[-1]


def test_nothing_verified_stays_without_a_number_however_many_outcomes() -> None:
    history = forecasts(*[(0.8, True)] * 60, *[(0.2, False)] * 60)
    assert confidence_after(a_mission(Outcome.NO_FIX), history).value is None


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=80),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_calibration_keeps_order_and_stays_a_probability(
    pairs: list[tuple[float, bool]], one: float, other: float
) -> None:
    history = forecasts(*pairs)
    low, high = sorted((one, other))
    assert 0.0 <= calibrate(low, history) <= 1.0
    if history:
        assert calibrate(low, history) <= calibrate(high, history)
