"""Who spoke in each stage, and what it cost; what is not known is not nothing."""

from typing import Any

import pytest

from bot.domain.forecast import Forecast
from bot.domain.mission import MissionContext
from bot.domain.model import ModelTrouble, Role, Spend, Usage
from bot.domain.verdict import ChangeReview
from bot.publish.model_costs import models_as_data, models_section, speakers, spend_in_words
from bot.publish.report import mission_report
from bot.publish.story import build_story
from bot.publish.terminal import report_text
from tests.builders import (
    a_critique,
    a_diagnosis,
    a_mission,
    a_model_call,
    a_verification,
    an_iteration,
)
from tests.unit.bot.publish.test_report import outside_code

PLAN = a_model_call(stage="plan", role=Role.JUDGE, model="openai-chat:cheap", cost_usd=0.002)
FIX = a_model_call(usage=Usage(input_tokens=900, cache_read_tokens=500, output_tokens=100))


def judged_by_a_model(**changes: Any) -> MissionContext:
    iteration = an_iteration(diagnosis=a_diagnosis(by="model"), critique=a_critique(by="fallback"))
    return a_mission(iterations=(iteration,), calls=(PLAN, FIX, FIX)).with_(**changes)


@pytest.mark.parametrize(
    ("spend", "words"),
    [
        (Spend(), "nothing: no model was called"),
        (Spend(calls=2, cost_usd=0.0305), "$0.0305"),
        (Spend(calls=2), "$0.0000"),
        (Spend(calls=2, unpriced_calls=2), "unknown"),
        (Spend(calls=3, unpriced_calls=1, cost_usd=0.5), "$0.5000 and unknown for 1 of 3 calls"),
    ],
)
def test_a_cost_is_told_as_far_as_it_is_known(spend: Spend, words: str) -> None:
    assert spend_in_words(spend) == words


def test_where_only_rules_spoke_the_report_says_nothing_of_models() -> None:
    assert models_section(build_story(a_mission())) is None
    assert "| cost of models | nothing: no model was called |" in mission_report(
        build_story(a_mission())
    )


def test_every_stage_says_who_decided_and_what_that_cost() -> None:
    text = mission_report(build_story(judged_by_a_model()))
    assert "<summary>Models and their cost</summary>" in text
    assert "| `analyze` | a model |  |  |  |  |" in text
    assert "| `critique` | rules, after an unusable model answer |" in text
    assert "| `plan` | rules | `openai-chat:cheap` | 1 | 900, 100 | $0.0020 |" in text
    assert "| `fix` |  | `anthropic:strong` | 2 | 1800 (1000 cached), 200 | $0.0200 |" in text
    assert "| all for judging |  |  | 1 | 900, 100 | $0.0020 |" in text
    assert "| all for fixing |  |  | 2 | 1800 (1000 cached), 200 | $0.0200 |" in text
    assert "| total |  |  | 3 | 2700 (1000 cached), 300 | $0.0220 |" in text


def test_a_model_that_gave_no_answer_is_not_named_as_speaking() -> None:
    silent = PLAN.with_(trouble=ModelTrouble.TIMEOUT, cost_usd=None)
    text = mission_report(build_story(judged_by_a_model(calls=(silent,))))
    assert "| `plan` | rules |  | 1 | 900, 100 | unknown |" in text


def test_what_was_paid_for_before_is_not_counted_again() -> None:
    data = models_as_data(judged_by_a_model(calls=(PLAN, PLAN.with_(remembered=True))))
    assert data["total"]["calls"] == data["roles"]["judge"]["calls"] == 1
    assert data["total"]["usd"] == 0.002


def test_what_a_dead_process_had_paid_for_is_in_the_bill_and_told() -> None:
    spent = Spend(
        calls=6,
        unpriced_calls=1,
        cost_usd=0.222,
        usage=Usage(input_tokens=4_700, output_tokens=600),
    )
    context = judged_by_a_model(spent=spent)
    text = mission_report(build_story(context))
    assert (
        "| interrupted attempts |  |  | 3 | 2000, 300 | $0.2000 and unknown for 1 of 3 calls |"
        in text
    )
    assert "| total |  |  | 6 | 4700, 600 | $0.2220 and unknown for 1 of 6 calls |" in text
    assert "| cost of models | $0.2220 and unknown for 1 of 6 calls |" in text
    assert models_as_data(context)["broken_off"]["calls"] == 3
    assert models_as_data(judged_by_a_model(spent=Spend(calls=3)))["broken_off"]["calls"] == 0
    assert "interrupted attempts" in mission_report(build_story(a_mission(spent=spent)))


ASSUMED = "assumed, without enough missions that asked a model"


@pytest.mark.parametrize(
    ("forecast", "words"),
    [
        (
            Forecast(missions=42, calls=3, input_tokens=900, output_tokens=100, cost_usd=0.03),
            "$0.0300 (3 calls, 900 tokens in, 100 out; the median of 42 missions that asked a model)",
        ),
        (
            Forecast(calls=1, input_tokens=900, output_tokens=100),
            f"unknown, without a price (1 call, 900 tokens in, 100 out; {ASSUMED})",
        ),
    ],
)
def test_the_cost_is_told_before_and_after(forecast: Forecast, words: str) -> None:
    context = judged_by_a_model(forecast=forecast)
    before = f"| expected cost of models | {words} |\n"
    assert f"{before}| cost of models | $0.0220 |" in mission_report(build_story(context))
    text = report_text(context)
    assert f"Models\n  expected: {words}\n" in text
    assert models_as_data(context)["expected"] == forecast.model_dump()
    assert models_as_data(judged_by_a_model())["expected"] is None


def test_programs_read_unknown_as_null() -> None:
    data = models_as_data(judged_by_a_model(calls=(PLAN, FIX.with_(cost_usd=None))))
    assert data["spoke"] == speakers(judged_by_a_model())
    assert (data["stages"]["plan"]["usd"], data["stages"]["fix"]["usd"], data["total"]["usd"]) == (
        0.002,
        None,
        None,
    )
    assert data["models"]["anthropic:strong"]["input_tokens"] == 900


def test_a_review_of_the_change_is_told_with_its_score_or_without_one() -> None:
    review = ChangeReview(
        by="model", score=0.9, justification="does | what the test asks", issues=("no docstring",)
    )
    iteration = an_iteration(verification=a_verification(review=review))
    text = mission_report(build_story(a_mission(iterations=(iteration,))))
    assert "0.90 (by model): does" in text
    assert "no docstring" in text
    unknown = an_iteration(verification=a_verification(review=review.with_(score=None)))
    assert "no score (by model)" in mission_report(build_story(a_mission(iterations=(unknown,))))


def test_a_hostile_model_name_is_code_in_the_report() -> None:
    odd = PLAN.with_(model="openai-chat:`<img src=x>` @everyone")
    text = mission_report(build_story(judged_by_a_model(calls=(odd,))))
    assert "<img" in text
    assert "<img" not in outside_code(text)
    assert "@everyone" not in outside_code(text)
