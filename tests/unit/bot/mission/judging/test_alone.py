"""What the rules alone would do, and what of it a model's doubts hold back."""

import pytest

from bot.domain.decision import Action, Decision, NextAction
from bot.domain.mission import Iteration
from bot.domain.patch import Rung
from bot.mission.failures.suspects import is_suspectable
from bot.mission.judging.alone import decide_alone, free_first
from tests.builders import a_criterion, a_diagnosis, a_report, a_running_mission, facts

CONTEXT = a_running_mission(
    iterations=(Iteration(number=1),),
    facts=facts(),
    acceptance_criteria=(a_criterion(passed=False),),
)


def alone(*rungs: Rung, confidence: float = 0.8, retried: bool = False) -> NextAction:
    diagnosis = a_diagnosis(confidence=confidence)
    kept = is_suspectable
    return decide_alone(
        CONTEXT, diagnosis, a_report(), rungs, lambda path: not kept(path), retried=retried
    )


def action(what: Action) -> NextAction:
    return NextAction(by="model", decision=Decision(action=what, reason="doubts"))


def test_the_rules_alone_run_what_asks_no_model() -> None:
    assert alone(Rung.SEARCH).decision.action is Action.RUN_WORKER
    assert alone(Rung.SEARCH, Rung.MODEL) == alone(Rung.SEARCH)
    assert alone(Rung.MODEL).decision.action is Action.ABORT


def test_where_they_would_ask_a_person_a_models_word_stands() -> None:
    unsure = alone(Rung.SEARCH, confidence=0.0, retried=True)
    assert unsure.decision.action is Action.ASK_HUMAN
    for what in (Action.ABORT, Action.ASK_HUMAN, Action.RETRY_WITH_CONTEXT):
        assert free_first(action(what), unsure) == action(what)


@pytest.mark.parametrize("what", [Action.ABORT, Action.ASK_HUMAN, Action.RETRY_WITH_CONTEXT])
def test_what_they_would_try_is_tried_and_the_rest_is_held(what: Action) -> None:
    tried = free_first(action(what), alone(Rung.SEARCH))
    assert (tried.decision.action, tried.held, tried.by) == (Action.RUN_WORKER, "doubts", "model")
    assert tried.worker_call is not None
    assert tried.worker_call.worker_type == "search"


def test_what_goes_on_anyhow_is_left_as_it_is() -> None:
    runs = alone(Rung.SEARCH).with_(by="model")
    assert free_first(runs, alone(Rung.SEARCH)) == runs
