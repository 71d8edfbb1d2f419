"""The story for a terminal."""

import pytest

from bot.domain.diagnosis import FailureKind
from bot.domain.mission import Confidence, Outcome
from bot.publish.terminal import report_text
from tests.builders import (
    TEST,
    a_candidate,
    a_folder_request,
    a_mission,
    a_model_call,
    a_recalled_lesson,
    a_triage,
    an_attempt,
    an_iteration,
)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_is_told_in_plain_text(outcome: Outcome) -> None:
    text = report_text(a_mission(outcome, request=a_folder_request()))
    assert text.startswith(f"{outcome.value}: ")
    assert f"it ended {outcome.value}" in text


def test_a_fix_shows_tests_diff_and_confidence() -> None:
    text = report_text(a_mission(lessons=(a_recalled_lesson(),)), confidence=Confidence(value=0.91))
    assert f"{TEST}: fail -> pass" in text
    assert "+    return a + b" in text
    assert "confidence 0.91 (its behaviour was not compared)" in text
    assert "4 of 4 runs agree" in text
    assert "(same fingerprint)" in text


def test_a_mission_without_a_fix_says_what_was_tried() -> None:
    iteration = an_iteration(
        candidate=None,
        verification=None,
        attempt=an_attempt(candidates=(), notes=("rung 1: none",)),
    )
    assert "Tried\n  rung 1: none" in report_text(
        a_mission(Outcome.NO_FIX, iterations=(iteration,))
    )


@pytest.mark.parametrize(
    "outcome", sorted(set(Outcome) - {Outcome.FIXED, Outcome.NEEDS_HUMAN}, key=str)
)
def test_every_end_without_a_fix_names_the_next_step(outcome: Outcome) -> None:
    mission = a_mission(outcome, iterations=(), request=a_folder_request())
    _, reason, step, *_ = report_text(mission).splitlines()
    assert not reason.startswith("  next: ")
    assert step.startswith("  next: ")
    assert "/metaagent" not in step, "a terminal reads no comments"
    told = report_text(mission.with_(advice="turn it off and on"))
    assert "  next: turn it off and on\n" in told


def test_notes_of_triage_explain_what_it_measured_and_are_no_step() -> None:
    triage = a_triage(kind=FailureKind.FLAKE, notes=("it fails in about 30 % of runs",))
    text = report_text(a_mission(Outcome.FLAKY, iterations=(), triage=triage))
    assert "  it fails in about 30 % of runs\n  next: rerun the failed jobs" in text
    assert "30 %" not in report_text(a_mission(Outcome.NO_FIX, iterations=(), triage=triage))


def test_foreign_text_cannot_drive_the_terminal() -> None:
    iteration = an_iteration(
        candidate=a_candidate(title="\x1b]0;owned\x07\x1b[2Jx", warnings=("\x1b[1mbold",))
    )
    text = report_text(a_mission(iterations=(iteration,), advice="\x1b[31m", question="a\x1b[2Kb"))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_models_are_told_with_what_they_cost_as_far_as_that_is_known() -> None:
    calls = (a_model_call(), a_model_call(), a_model_call(model="openai-chat:mine", cost_usd=None))
    text = report_text(a_mission(calls=calls))
    assert "  anthropic:strong: 2 calls, 1800 tokens in, 200 out, cost $0.0200\n" in text
    assert "  openai-chat:mine: 1 call, 900 tokens in, 100 out, cost unknown\n" in text
    assert "  decided: analyze by rules, plan by rules, critique by rules" in text
    assert "Models" not in report_text(a_mission())
