"""The mission's mind: bills, spent money, servers that are away, and what a stage costs by itself."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from bot.domain.mission import Budget, Iteration
from bot.domain.model import ModelTrouble, Question, Role
from bot.domain.model_error import ModelError
from bot.domain.patch import Rung
from bot.domain.verdict import ChangeReview, Thought
from bot.llm.protocol.messages import CritiqueChange
from bot.mission.judging.analyze_by_model import Look, analyze_by_model
from bot.mission.judging.critique import critique_plan
from bot.mission.judging.critique_by_model import critique_by_model
from bot.mission.judging.decide import decide_next_action
from bot.mission.judging.decide_by_model import decide_by_model
from bot.mission.judging.evaluate import assess_live, evaluate_reasoning
from bot.mission.judging.evaluate_by_model import assess_by_model, evaluate_by_model
from bot.mission.judging.plan_by_model import plan_by_model
from bot.mission.judging.review_by_model import review_by_model
from bot.mission.mind import Billed
from tests.builders import (
    a_candidate,
    a_confidence,
    a_critique,
    a_diagnosis,
    a_plan,
    a_running_mission,
    a_verification,
)
from tests.fakes.fake_workspace import FakeWorkspace
from tests.fakes.scripted_mind import ScriptedMind
from tests.unit.bot.mission.minded import SAYS

pytestmark = pytest.mark.anyio
QUESTION = Question(stage="review", prompt="critique_change")
WRITTEN = Question(stage="fix", prompt="fix")


async def test_every_call_is_on_the_bill_once_whether_it_was_answered_or_not() -> None:
    scripted = ScriptedMind(
        {"critique_change": [SAYS["critique_change"], ModelTrouble.REFUSAL], "fix": "text"}
    )
    mind = Billed(scripted, Budget(money_usd=1.0))
    await mind.ask(QUESTION, CritiqueChange)
    with pytest.raises(ModelError):
        await mind.ask(QUESTION, CritiqueChange)
    assert (await mind.write(WRITTEN)).text == "text"
    assert [call.trouble for call in mind.take_bill()] == [None, ModelTrouble.REFUSAL, None]
    assert mind.take_bill() == ()


async def test_nothing_is_asked_when_the_money_is_spent_by_this_step_or_those_before() -> None:
    scripted = ScriptedMind({"fix": "text"}, cost_usd=0.5)
    mind = Billed(scripted, Budget(money_usd=1.0))
    for _ in range(2):
        await mind.write(WRITTEN)
    with pytest.raises(ModelError) as caught:
        await mind.write(WRITTEN)
    assert caught.value.trouble is ModelTrouble.BUDGET
    mind.take_bill()
    mind.budget = Budget(money_usd=1.0, spent_usd=1.0)
    with pytest.raises(ModelError):
        await mind.write(WRITTEN)
    assert len(scripted.questions) == 2


async def test_a_model_without_a_price_may_be_asked_while_there_is_money() -> None:
    scripted = ScriptedMind({"fix": "text"}, cost_usd=None)
    mind = Billed(scripted, Budget(money_usd=0.01))
    for _ in range(5):
        await mind.write(WRITTEN)
    assert len(scripted.questions) == 5


async def test_without_money_a_model_that_costs_nothing_may_be_asked_and_another_only_once() -> (
    None
):
    free, dear = (
        ScriptedMind({"fix": "text"}, cost_usd=0.0),
        ScriptedMind({"fix": "text"}, cost_usd=0.1),
    )
    for scripted, most in ((free, 3), (dear, 1)):
        mind = Billed(scripted, Budget(money_usd=0.0))
        for _ in range(3):
            with suppress(ModelError):
                await mind.write(WRITTEN)
        assert len(scripted.questions) == most


async def test_an_answer_in_between_gives_a_server_another_chance() -> None:
    away = ModelTrouble.OVERLOADED
    scripted = ScriptedMind({"fix": [away, "text", away, away, "text"]})
    mind = Billed(scripted, Budget(money_usd=1.0))
    for answered in (False, True, False, False, False):
        if answered:
            await mind.write(WRITTEN)
            continue
        with pytest.raises(ModelError):
            await mind.write(WRITTEN)
    assert len(scripted.questions) == 4


async def test_a_missing_model_has_no_role_and_answers_nothing() -> None:
    mind = Billed(None, Budget(money_usd=1.0))
    assert not any(mind.has(role) for role in Role)
    with pytest.raises(ModelError):
        await mind.write(WRITTEN)


PLAN, DIAGNOSIS, CRITIQUE = a_plan(), a_diagnosis(), a_critique()
CONTEXT = a_running_mission(
    iterations=(Iteration(number=1, diagnosis=DIAGNOSIS, plan=PLAN, confidence=a_confidence()),),
    acceptance_criteria=PLAN.acceptance_criteria,
)
LOOKED = a_candidate(), a_verification()
STAGES: dict[str, Callable[[Billed], Awaitable[Any]]] = {
    "analyze": lambda mind: mind.or_rules(
        DIAGNOSIS,
        lambda models, ours: analyze_by_model(
            models, ours, CONTEXT, FakeWorkspace({"calc.py": "x = 1\n"}), look=Look()
        ),
    ),
    "live": lambda mind: mind.or_rules(
        assess_live(Thought(reasoning="", confidence=0.5), DIAGNOSIS),
        lambda models, ours: assess_by_model(models, ours, DIAGNOSIS),
    ),
    "plan": lambda mind: mind.or_rules(
        PLAN, lambda models, ours: plan_by_model(models, ours, CONTEXT, {Rung.SEARCH})
    ),
    "critique": lambda mind: mind.or_rules(
        critique_plan(PLAN), lambda models, ours: critique_by_model(models, ours, PLAN, DIAGNOSIS)
    ),
    "evaluate": lambda mind: mind.or_rules(
        evaluate_reasoning(DIAGNOSIS, PLAN, CRITIQUE),
        lambda models, ours: evaluate_by_model(models, ours, DIAGNOSIS, PLAN, critique=CRITIQUE),
    ),
    "decide": lambda mind: mind.or_rules(
        decide_next_action(CONTEXT),
        lambda models, ours: decide_by_model(models, ours, CONTEXT, retried=False),
    ),
    "review": lambda mind: mind.or_rules(
        ChangeReview(by="rules"),
        lambda models, ours: review_by_model(models, ours, *LOOKED, context=CONTEXT),
    ),
}


@pytest.mark.parametrize("name", STAGES)
async def test_a_stage_costs_next_to_nothing_besides_the_model(name: str) -> None:
    mind = Billed(ScriptedMind(SAYS), Budget(money_usd=1_000.0))
    started, count = time.process_time(), 20
    for _ in range(count):
        assert (await STAGES[name](mind)).by == "model"
    assert (time.process_time() - started) / count < 0.05, "the bar is 5 ms; a machine may be slow"


async def test_judging_takes_no_more_than_its_share_of_a_missions_time() -> None:
    waits = asyncio.Event()

    async def forever(_: Question) -> None:
        await waits.wait()

    mind = Billed(ScriptedMind({"fix": "text"}, before=forever), Budget(money_usd=1.0, seconds=9.0))
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            await mind.write(WRITTEN)
        assert caught.value.trouble is ModelTrouble.DEADLINE
    assert 2.9 <= mind.waiting.seconds < 9.0
    assert mind.waiting.unanswered == 1, "the second time nobody was asked"
    quick = Billed(ScriptedMind({"fix": "text"}), Budget(money_usd=1.0, seconds=9.0))
    quick.waiting = mind.waiting
    with pytest.raises(ModelError):
        await quick.write(WRITTEN)
