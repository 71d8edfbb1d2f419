"""Headlines, identities and markers."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.mission import MissionState, Outcome
from bot.domain.patch import Rung
from bot.publish.story import build_story, headline, identity, marker, patch_marker, winner
from tests.builders import a_candidate, a_mission, a_running_mission, a_triage, an_iteration


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_headline_begins_with_its_outcome_and_says_something(outcome: Outcome) -> None:
    line = headline(build_story(a_mission(outcome)))
    assert re.fullmatch(rf"{outcome.value}: .{{10,}}", line)


def test_a_mission_that_never_ended_is_our_error() -> None:
    story = build_story(a_running_mission())
    assert story.outcome is Outcome.ERROR
    assert story.context.state is MissionState.RUNNING


def test_a_flake_says_how_often() -> None:
    story = build_story(a_mission(Outcome.FLAKY, triage=a_triage(runs=4, red_runs=1)))
    assert "(red in 1 of 4 runs)" in headline(story)


def test_a_model_that_won_is_named_as_it_is_configured() -> None:
    candidate = a_candidate(rung=Rung.MODEL, template="anthropic:claude-some-5.1")
    story = build_story(a_mission(iterations=(an_iteration(candidate=candidate),)))
    assert winner(story) == "rung 2 (model, anthropic:claude-some-5.1)"


def test_the_winner_is_named_even_when_the_sandbox_lies_about_its_name() -> None:
    story = build_story(
        a_mission(
            iterations=(an_iteration(candidate=a_candidate(template="<b>*x*</b> @all GH-1")),)
        )
    )
    assert winner(story) == "rung 1 (search, bxb all gh1)"


@given(st.text(max_size=200))
def test_an_identity_cannot_end_a_comment(text: str) -> None:
    assert re.fullmatch(r"(?!.*--)[A-Za-z0-9._:-]{0,80}", identity(text))


def test_markers_name_mission_fingerprint_and_patch() -> None:
    context = a_mission()
    assert (
        marker(context)
        == "<!-- metaagent:mission=m-0001 fingerprint=0123456789abcdef0123456789abcdef -->"
    )
    assert marker(a_mission(iterations=())) == "<!-- metaagent:mission=m-0001 fingerprint=none -->"
    assert re.fullmatch(
        r"<!-- metaagent:patch=[0-9a-f]{16} -->", patch_marker(build_story(context))
    )
    assert patch_marker(build_story(a_mission(Outcome.NO_FIX))) == ""
