"""What is known about a mission, and what follows from it."""

import pytest

from bot.domain.mission import Budget, MissionContext, MissionState, Outcome
from bot.domain.request import MissionRequest, Trigger
from sandbox.types import TrustTier
from tests.builders import (
    FINGERPRINT,
    HEAD,
    a_candidate,
    a_diagnosis,
    a_folder_request,
    a_mission,
    a_request,
    a_running_mission,
    a_verification,
    an_attempt,
    an_iteration,
)


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_ends_a_mission_in_one_state(outcome: Outcome) -> None:
    ended = a_running_mission().ended(outcome, "because", advice="do")
    states = {
        Outcome.CANCELLED: MissionState.CANCELLED,
        Outcome.ERROR: MissionState.FAILED,
        Outcome.NEEDS_HUMAN: MissionState.WAITING_FOR_HUMAN,
    }
    assert ended.state is states.get(outcome, MissionState.COMPLETED)
    assert (ended.outcome, ended.reason, ended.advice) == (outcome, "because", "do")


@pytest.mark.parametrize("outcome", Outcome)
def test_a_mission_comes_back_from_its_json(outcome: Outcome) -> None:
    context = a_mission(outcome)
    assert MissionContext.model_validate_json(context.model_dump_json()) == context


def test_the_fix_is_the_newest_verified_one() -> None:
    red = a_verification(green=False)
    first = an_iteration(candidate=a_candidate(id="first"))
    second = an_iteration(number=2, candidate=a_candidate(id="second"), verification=red)
    found = a_running_mission(iterations=(first, second)).fix
    assert found is not None
    assert found[0].id == "first"
    assert a_running_mission(iterations=(second,)).fix is None


def test_the_fingerprint_is_that_of_the_first_failure() -> None:
    later = an_iteration(number=2, diagnosis=a_diagnosis(fingerprint="f" * 32))
    context = a_running_mission(iterations=(an_iteration(), later))
    assert (context.fingerprint, context.diagnosis) == (FINGERPRINT, later.diagnosis)
    assert (a_running_mission().fingerprint, a_running_mission().current) == ("", None)


def test_candidates_are_counted_over_all_iterations() -> None:
    turns = (
        an_iteration(),
        an_iteration(number=2, attempt=an_attempt(candidates_tried=30)),
        an_iteration(attempt=None),
    )
    assert a_running_mission(iterations=turns).candidates_tried == 42


@pytest.mark.parametrize(
    ("spent", "allowed"), [((4, 10.0), True), ((5, 10.0), False), ((1, 1800.0), False)]
)
def test_a_budget_ends_with_its_iterations_or_its_time(
    spent: tuple[int, float], *, allowed: bool
) -> None:
    budget = Budget(spent_iterations=spent[0], spent_seconds=spent[1])
    assert budget.allows_another_iteration is allowed


def test_what_a_fork_brought_is_remembered_apart() -> None:
    assert a_request().memory_key == "42"
    assert a_request(tier=TrustTier.FORK).memory_key == "42:fork"
    assert a_folder_request("/checkout").memory_key == "local:/checkout"


@pytest.mark.parametrize("sha", ["main", HEAD[:-1], HEAD.upper(), HEAD + "\n", "--upload-pack=x"])
def test_a_commit_is_forty_hexadecimal_digits(sha: str) -> None:
    with pytest.raises(ValueError, match="head_sha"):
        MissionRequest(mission_id="m", trigger=Trigger.CHECK_RUN, head_sha=sha)
