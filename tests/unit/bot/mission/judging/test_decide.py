"""The table from confidence, state and budget to the next action."""

from typing import Any

import pytest

from bot.domain.decision import Action
from bot.domain.mission import Budget, MissionContext, MissionState
from bot.domain.request import Answer
from bot.domain.verdict import Route
from bot.mission.judging.decide import decide_next_action, question_for
from tests.builders import (
    a_confidence,
    a_criterion,
    a_diagnosis,
    a_failure,
    a_plan,
    a_request,
    a_running_mission,
    an_iteration,
)
from tests.fakes.scripted_workspace import a_run


def mission(route: Route = Route.EXECUTE, **changes: Any) -> MissionContext:
    iteration = an_iteration(
        confidence=a_confidence(action=route), candidate=None, verification=None
    )
    return a_running_mission(
        iterations=(iteration,), acceptance_criteria=(a_criterion(passed=False),)
    ).with_(**changes)


@pytest.mark.parametrize(
    ("route", "retried", "action"),
    [
        (Route.EXECUTE, False, Action.RUN_WORKER),
        (Route.EXECUTE_WITH_CAUTION, False, Action.RUN_WORKER),
        (Route.CLARIFY, False, Action.ASK_HUMAN),
        (Route.REPLAN, False, Action.RETRY_WITH_CONTEXT),
        (Route.REPLAN, True, Action.ASK_HUMAN),
        (Route.ESCALATE, False, Action.ASK_HUMAN),
    ],
)
def test_every_route_has_an_action(route: Route, *, retried: bool, action: Action) -> None:
    found = decide_next_action(mission(route), retried=retried)
    assert found.decision.action is action
    assert (found.worker_call is not None) is (action is Action.RUN_WORKER)


@pytest.mark.parametrize(
    ("route", "retried"), [(Route.CLARIFY, False), (Route.REPLAN, True), (Route.ESCALATE, False)]
)
def test_a_person_who_answered_is_not_asked_the_same_again(route: Route, *, retried: bool) -> None:
    request = a_request(answer=Answer(proposal_id="m-0", text="yes, it is right"))
    found = decide_next_action(mission(route, request=request), retried=retried)
    assert found.decision.action is Action.RUN_WORKER
    assert "a person answered" in found.decision.reason


def test_the_worker_is_the_first_the_plan_names() -> None:
    found = decide_next_action(mission())
    assert found.worker_call is not None
    assert found.worker_call.worker_type == "search"
    assert found.worker_call.mode == "exec"


def test_criteria_that_all_passed_complete_the_mission() -> None:
    done = mission(
        Route.ESCALATE,
        acceptance_criteria=(a_criterion(), a_criterion(id="AC-2", critical=False, passed=False)),
    )
    assert decide_next_action(done).decision.action is Action.MARK_COMPLETE


def test_no_criterion_completes_nothing() -> None:
    assert decide_next_action(mission(acceptance_criteria=())).decision.action is Action.RUN_WORKER


@pytest.mark.parametrize(
    "changes",
    [
        {"state": MissionState.CANCELLED},
        {"budget": Budget(spent_iterations=5)},
        {"budget": Budget(seconds=10.0, spent_seconds=10.0)},
        {"iterations": (an_iteration(plan=a_plan(steps=())),)},
        {"iterations": (an_iteration(plan=None),)},
        {"iterations": (an_iteration(confidence=None),)},
        {"iterations": ()},
    ],
)
def test_what_cannot_go_on_aborts(changes: dict[str, Any]) -> None:
    found = decide_next_action(mission(**changes))
    assert found.decision.action is Action.ABORT
    assert found.decision.reason


@pytest.mark.parametrize(
    ("runner", "words"), [("vitest", "no model is configured"), ("pytest", "no rung of the ladder")]
)
def test_without_a_fixer_the_reason_names_what_is_missing(runner: str, words: str) -> None:
    iteration = an_iteration(plan=None, candidate=None, verification=None)
    red = a_run({"src/a.test.ts::adds": "AssertionError: 1"}, runner=runner)
    found = decide_next_action(mission(iterations=(iteration,), test_results=red))
    assert found.decision.action is Action.ABORT
    assert words in found.decision.reason


def test_the_criteria_travel_with_the_action() -> None:
    assert decide_next_action(mission()).updated_acceptance_criteria == (a_criterion(passed=False),)


@pytest.mark.parametrize(
    ("diagnosis", "words"),
    [
        (a_diagnosis(), "calculator.py line 2"),
        (a_diagnosis(suspects=()), "Which file"),
        (a_diagnosis(failures=()), "Which test"),
        (a_diagnosis(failures=(a_failure(),), suspects=()), "test_add"),
    ],
)
def test_a_question_is_one_sentence_with_a_question_mark(diagnosis: object, words: str) -> None:
    question = question_for(a_diagnosis().model_validate(diagnosis))
    assert words in question
    assert question.count("?") == 1
