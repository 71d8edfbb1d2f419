"""The confidence before acting says what it allowed, and nothing in a report contradicts the outcome."""

import pytest

from bot.domain.decision import Action, Decision, WorkerCall
from bot.domain.mission import Outcome
from bot.domain.verdict import Route
from bot.publish.before_acting import before_acting
from bot.publish.markdown import SafeWriter
from bot.publish.report import mission_report
from bot.publish.story import build_story
from bot.publish.terminal import report_text
from tests.builders import a_confidence, a_meta, a_next_action, an_iteration
from tests.unit.bot.mission.minded import a_mind
from tests.unit.bot.mission.test_minded_loop import DOUBTS, one_bug


def told(route: Route, **iteration: object) -> list[str]:
    confidence = a_confidence(action=route, overall=0.5)
    return before_acting(an_iteration(confidence=confidence, **iteration), SafeWriter().line)


@pytest.mark.anyio
@pytest.mark.parametrize("doubted", ["critique_plan", "next_action", "all of it"])
async def test_what_a_doubting_model_held_back_and_why_the_rest_went_on_is_one_sentence(
    doubted: str,
) -> None:
    answers = DOUBTS if doubted == "all of it" else {doubted: DOUBTS[doubted]}
    context = await one_bug(a_mind(answers)).play()
    assert context.outcome is Outcome.FIXED
    (line,) = [
        line
        for line in mission_report(build_story(context)).splitlines()
        if "before acting" in line
    ]
    in_a_terminal = [line for line in report_text(context).splitlines() if "before acting" in line]
    action = context.iterations[0].next_action
    assert action is not None
    if not action.held:
        assert "held back" not in line
        assert bool(in_a_terminal) is build_story(context).is_cautious
        assert "draft" not in line or build_story(context).is_cautious
        return
    assert "rungs 0 and 1 ran, because they are free" in in_a_terminal[0]
    assert "paid work (rung 2) was held back" in line
    assert "rungs 0 and 1 ran, because they are free" in line


def test_a_route_that_simply_allows_acting_is_not_explained() -> None:
    (line,) = told(Route.EXECUTE)
    assert line.endswith("which allowed: execute")


def test_caution_is_a_draft() -> None:
    (line,) = told(Route.EXECUTE_WITH_CAUTION)
    assert "which allowed: execute with caution; so pull requests are drafts" in line


@pytest.mark.parametrize("route", [Route.CLARIFY, Route.REPLAN, Route.ESCALATE])
def test_an_answer_that_let_it_go_on_is_named(route: Route) -> None:
    answered = Decision(
        action=Action.RUN_WORKER, reason="confidence 0.50; a person answered: go on"
    )
    (line,) = told(route, next_action=a_next_action(decision=answered))
    assert "it ran despite this route: confidence 0.50; a person answered: go on" in line
    (line,) = told(
        route,
        next_action=a_next_action(
            decision=answered.with_(action=Action.ASK_HUMAN), worker_call=None
        ),
    )
    assert "all the same" not in line


def test_only_a_models_score_of_the_reasoning_is_shown() -> None:
    worker = a_next_action(worker_call=WorkerCall(worker_type="tools"))
    assert "meta" not in told(Route.EXECUTE, next_action=worker)[0]
    assert "meta 0.80" in told(Route.EXECUTE, meta=a_meta(by="model"))[0]


@pytest.mark.anyio
async def test_the_rules_questioning_of_themselves_is_left_out_of_the_report() -> None:
    by_rules = mission_report(build_story(await one_bug(None).play()))
    by_model = mission_report(build_story(await one_bug(a_mind()).play()))
    assert "quality of our reasoning" not in by_rules
    assert "quality of our reasoning: 0.90, confidence in it 0.85" in by_model
