"""The evidence as data."""

import json

import pytest

from bot.domain.mission import Outcome
from bot.domain.patch import Rung, VerifiedRun
from bot.publish.evidence import agreement, cost_per_rung, evidence
from bot.publish.story import a_story
from sandbox.types import RunVerdict
from tests.builders import (
    a_candidate,
    a_mission,
    a_report,
    a_verification,
    an_attempt,
    an_iteration,
    facts,
)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_evidence_is_data_for_every_outcome(outcome: Outcome) -> None:
    found = evidence(a_story(a_mission(outcome)))
    assert json.loads(json.dumps(found)) == found
    assert found["outcome"] == outcome.value
    assert ("verification" in found) is (outcome in {Outcome.FIXED, Outcome.PARTIAL})


def test_a_mission_that_never_opened_a_workspace_has_evidence_too() -> None:
    found = evidence(a_story(a_mission(Outcome.POLICY, facts=None, triage=None, test_results=None, iterations=())))
    assert found["environment"] is None
    assert found["before"] is None


def test_every_text_in_it_is_gated() -> None:
    found = evidence(a_story(a_mission(facts=facts(interpreter="\x1b[1mPython\u202e"), reason="a\nb")))
    assert found["environment"]["interpreter"] == "Python"
    assert found["reason"] == "a b"


def test_runs_agree_or_are_said_not_to() -> None:
    assert agreement(a_verification()) == "4 of 4 runs agree"
    assert agreement(a_verification(runs=())) == "no run"
    red = VerifiedRun(label="other order", report=a_report(verdict=RunVerdict.FAIL))
    assert agreement(a_verification(runs=(*a_verification().runs[:2], red))) == "only 2 of 3 runs agree"


def test_cost_is_told_per_rung() -> None:
    attempt = an_attempt(
        candidates=(
            a_candidate(id="1", rung=Rung.SEARCH, seconds=1.0),
            a_candidate(id="2", rung=Rung.SEARCH, seconds=3.0),
            a_candidate(id="3", rung=Rung.MODEL, seconds=2.0, cost_usd=0.02),
        )
    )
    story = a_story(a_mission(iterations=(an_iteration(attempt=attempt),)))
    assert cost_per_rung(story) == {"1": {"seconds": 3.0, "usd": 0.0}, "2": {"seconds": 2.0, "usd": 0.02}}
