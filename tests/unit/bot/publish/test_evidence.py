"""The evidence as data."""

import json

import pytest

from bot.domain.evidence import KeptEvidence
from bot.domain.mission import Outcome
from bot.domain.model import Role
from bot.domain.patch import Rung, VerifiedRun
from bot.publish.evidence import EXCERPT_CHARS, agreement, cost_per_rung, evidence
from bot.publish.report import mission_report
from bot.publish.story import build_story
from sandbox.types import Egress, RunVerdict
from tests.builders import (
    BASE,
    HEAD,
    a_candidate,
    a_mission,
    a_model_call,
    a_recipe,
    a_report,
    a_verification,
    an_attempt,
    an_iteration,
    facts,
)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_evidence_is_data_for_every_outcome(outcome: Outcome) -> None:
    found = evidence(build_story(a_mission(outcome)))
    assert json.loads(json.dumps(found)) == found
    assert found["outcome"] == outcome.value
    assert ("verification" in found) is (outcome in {Outcome.FIXED, Outcome.PARTIAL})


def test_a_mission_that_never_opened_a_workspace_has_evidence_too() -> None:
    found = evidence(
        build_story(
            a_mission(Outcome.POLICY, facts=None, triage=None, test_results=None, iterations=())
        )
    )
    assert found["environment"] is None
    assert found["before"] is None


def test_every_text_in_it_is_gated() -> None:
    found = evidence(
        build_story(a_mission(facts=facts(interpreter="\x1b[1mPython\u202e"), reason="a\nb"))
    )
    assert found["environment"]["interpreter"] == "Python"
    assert found["reason"] == "a b"


def test_runs_agree_or_are_said_not_to() -> None:
    assert agreement(a_verification()) == "4 of 4 runs agree"
    assert agreement(a_verification(runs=())) == "no run"
    red = VerifiedRun(label="other order", report=a_report(verdict=RunVerdict.FAIL))
    assert (
        agreement(a_verification(runs=(*a_verification().runs[:2], red)))
        == "only 2 of 3 runs agree"
    )


def test_cost_is_told_per_rung() -> None:
    attempt = an_attempt(
        candidates=(
            a_candidate(id="1", rung=Rung.SEARCH, seconds=1.0),
            a_candidate(id="2", rung=Rung.SEARCH, seconds=3.0),
            a_candidate(id="3", rung=Rung.MODEL, seconds=2.0),
        )
    )
    calls = (a_model_call(cost_usd=0.02), a_model_call(stage="plan", role=Role.JUDGE, cost_usd=0.5))
    story = build_story(a_mission(iterations=(an_iteration(attempt=attempt),), calls=calls))
    assert cost_per_rung(story) == {
        "1": {"seconds": 3.0, "usd": 0.0},
        "2": {"seconds": 2.0, "usd": 0.02},
    }


def test_a_rung_that_asked_for_nothing_of_use_has_its_cost_told_too() -> None:
    calls = (
        a_model_call(cost_usd=None, latency_s=1.5),
        a_model_call(cost_usd=0.5, remembered=True, latency_s=9.0),
    )
    story = build_story(a_mission(iterations=(), calls=calls))
    assert cost_per_rung(story) == {"2": {"seconds": 1.5, "usd": None}}
    assert evidence(story)["cost_usd"] is None


def test_the_evidence_names_everything_a_doubting_reader_asks_for() -> None:
    stood_on = facts(
        lock_hash="4" * 64,
        egress=Egress(hosts=("index.example:443",), refused=("10.0.0.1:80",), received_bytes=7),
        recipe=a_recipe(
            setup=("make deps",), prepare=("make code",), obstacles=("service postgres",)
        ),
        setup_s=3.0,
    )
    found = evidence(build_story(a_mission(facts=stood_on)))
    place = found["environment"]
    assert place["image_digest"].startswith("sha256:")
    assert (place["lock_hash"], place["head_sha"], place["base_sha"]) == ("4" * 64, HEAD, BASE)
    assert place["obstacles"] == ["service postgres"]
    assert found["commands"] == ["make deps", "make code", "pytest -q"]
    assert found["egress"] == {
        "hosts": ["index.example:443"],
        "refused": ["10.0.0.1:80"],
        "received_bytes": 7,
    }
    assert found["durations"] == {
        "mission": 6.5, "set_up": 3.0, "open": 0.4, "red_run": 0.1, "search": 1.2, "verification": 2.5
    }  # fmt: skip
    assert found["fix"]["mutants"] is None, "not measured is not zero"
    assert found["fix"]["mutants_note"] == "not measured"
    assert found["fix"]["confident"] is True
    assert [row["before"] for row in found["verification"]["table"]] == ["fail"]
    assert found["verification"]["agreement"] == "4 of 4 runs agree"
    assert found["verification"]["not_verified"]
    assert found["cost_per_rung"]
    assert found["bundle"] is None


def test_outputs_stand_in_it_gated_and_bounded() -> None:
    noisy = a_report(raw_output="x" * 50_000 + "\n\x1b[31mred\x1b[0m\u202e end")
    found = evidence(build_story(a_mission(test_results=noisy)))
    excerpt = found["before"]["excerpt"]
    assert len(excerpt) <= EXCERPT_CHARS + 100
    assert excerpt.endswith("red end")
    assert found["verification"]["excerpt"] == "2 passed in 0.1 s"


def test_the_kept_bundle_is_named_with_its_hash() -> None:
    story = build_story(
        a_mission(),
        bundle=KeptEvidence(name="m-0001", sha256="5" * 64, size=10, until="2026-02-01"),
    )
    assert evidence(story)["bundle"] == {
        "name": "m-0001",
        "sha256": "5" * 64,
        "size": 10,
        "until": "2026-02-01",
    }
    report = mission_report(story)
    assert "metaagent replay m-0001" in report
    assert "5" * 64 in report


def test_a_mission_without_a_kept_bundle_promises_none() -> None:
    assert "metaagent replay" not in mission_report(build_story(a_mission()))
