"""Confidence after verification, and whether such numbers can be trusted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.lesson import LEAST_SLOPE, MOST_SLOPE, Correction, Forecast
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


def owners(count: int, *pairs: tuple[float, bool]) -> list[tuple[Forecast, ...]]:
    """Return the same outcomes in each of so many repositories."""
    return [forecasts(*pairs)] * count


def test_without_outcomes_nothing_is_corrected() -> None:
    assert learn_correction(()) == Correction()
    assert confidence_after(a_mission(), Correction()) == confidence_by_rules(a_mission())


@pytest.mark.parametrize(
    "known",
    [
        owners(1, (0.95, False)),
        owners(2, *[(0.95, False)] * 25),
        owners(3, *[(0.95, False)] * 3),
    ],
    ids=["one outcome", "two repositories", "nine outcomes"],
)
def test_few_outcomes_or_owners_correct_nothing(known: list[tuple[Forecast, ...]]) -> None:
    assert learn_correction(known) == Correction()


def test_no_owner_decides_for_the_others() -> None:
    content = owners(3, *[(0.95, True)] * 20)
    one_refuses = learn_correction([*content, forecasts(*[(0.96, False)] * 25)])
    assert one_refuses.apply(0.85) >= 0.85
    several_refuse = learn_correction([*content, *owners(3, *[(0.96, False)] * 25)])
    assert several_refuse.apply(0.85) < 0.85
    accepting = learn_correction([*owners(3, *[(0.8, False)] * 5), forecasts(*[(0.2, True)] * 25)])
    assert accepting.apply(0.85) < 0.85, "nor for more confidence"


def test_outcomes_move_the_rank_the_more_of_them_there_are() -> None:
    def after(count: int, each: int) -> float:
        return learn_correction(owners(count, *[(0.9, True), (0.9, False)] * each)).apply(0.9)

    mixed = learn_correction([*owners(5, (0.9, True)), *owners(5, (0.9, False))])
    assert mixed.apply(0.9) == pytest.approx(0.78, abs=0.01)
    assert after(10, 5) == pytest.approx(0.63, abs=0.01)
    assert after(10, 1) > after(10, 5) > after(30, 5) > after(30, 12) > 0.5
    # The outcomes of one owner count less the more there are.
    assert after(10, 10) > after(20, 5)


def test_the_slope_is_bounded_and_ranks_near_certainty_are_shifted_alone() -> None:
    opposed = learn_correction(owners(40, *[(0.99, False), (0.01, True)] * 5))
    assert opposed.slope == LEAST_SLOPE
    assert opposed.apply(0.99) - opposed.apply(0.98) > 0.002
    steep = learn_correction(owners(40, *[(0.7, True), (0.3, False)] * 5))
    assert 1.0 < steep.slope <= MOST_SLOPE


def test_outcomes_as_forecast_change_little() -> None:
    history = learn_correction(owners(4, *[(0.8, True)] * 8, *[(0.8, False)] * 2))
    confidence = confidence_after(a_mission(), history)
    assert confidence.value == pytest.approx(0.8, abs=0.02)
    assert confidence.outcomes == 30
    assert "30 outcomes" in confidence.factors[-1]


def test_the_rank_is_corrected_and_nothing_that_has_none() -> None:
    history = learn_correction(owners(9, *[(0.8, True), (0.8, False)] * 5))
    verified = a_verification(doubts=("slow",))
    plain = value(verification=verified)
    mission = a_mission(iterations=(an_iteration(verification=verified),))
    corrected = confidence_after(mission, history)
    assert corrected.value is not None
    assert corrected.value < plain
    start = a_candidate(score=round(history.apply(0.8), 4))
    assert corrected.value == value(candidate=start, verification=verified)
    tool = a_candidate(rung=Rung.TOOLS, ranked=False)
    untouched = a_mission(iterations=(an_iteration(candidate=tool),))
    assert confidence_after(untouched, history) == confidence_by_rules(untouched)


def test_nothing_verified_stays_without_a_number_however_many_outcomes() -> None:
    history = learn_correction(owners(4, *[(0.8, True)] * 20, *[(0.2, False)] * 20))
    assert confidence_after(a_mission(Outcome.NO_FIX), history).value is None


@given(
    st.lists(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=25), max_size=6),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_a_correction_keeps_the_order_and_stays_a_probability(
    known: list[list[tuple[float, bool]]], one: float, other: float
) -> None:
    correction = learn_correction(forecasts(*pairs) for pairs in known)
    low, high = sorted((one, other))
    assert 0.0 <= correction.apply(low) <= correction.apply(high) <= 1.0
