"""The mission's mind: bills, spent money, servers that are away, and what a stage costs by itself."""

import asyncio
import time
from contextlib import suppress

import pytest

from bot.domain.mission import Budget
from bot.domain.model import ModelTrouble, Question, Role
from bot.domain.model_error import ModelError
from bot.llm.protocol.messages import CritiqueChange
from bot.mission.by_model.criticism import critique_by_model
from bot.mission.critique import critique_plan
from bot.mission.mind import Billed
from tests.builders import a_diagnosis, a_plan
from tests.fakes.scripted_mind import ScriptedMind
from tests.unit.bot.mission.minded import SAYS

pytestmark = pytest.mark.anyio
QUESTION = Question(stage="review", prompt="critique_change")
WRITTEN = Question(stage="fix", prompt="fix")


async def test_every_call_is_on_the_bill_once_whether_it_was_answered_or_not() -> None:
    scripted = ScriptedMind({"critique_change": [SAYS["critique_change"], ModelTrouble.REFUSAL], "fix": "text"})
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


async def test_without_money_a_model_that_costs_nothing_may_be_asked_and_another_only_once() -> None:
    free, dear = ScriptedMind({"fix": "text"}, cost_usd=0.0), ScriptedMind({"fix": "text"}, cost_usd=0.1)
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


async def test_a_stage_costs_next_to_nothing_besides_the_model() -> None:
    mind = Billed(ScriptedMind(SAYS), Budget(money_usd=1_000.0))
    plan, diagnosis = a_plan(), a_diagnosis()
    started, count = time.process_time(), 50
    for _ in range(count):
        rules = critique_plan(plan)
        said = await mind.or_rules(rules, lambda models, ours: critique_by_model(models, ours, plan, diagnosis))
        assert said.by == "model"
    assert (time.process_time() - started) / count < 0.005


async def test_judging_takes_no_more_than_its_share_of_a_missions_time() -> None:
    waits = asyncio.Event()

    async def forever(_: Question) -> None:
        await waits.wait()

    mind = Billed(ScriptedMind({"fix": "text"}, before=forever), Budget(money_usd=1.0, seconds=3.3))
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            await mind.write(WRITTEN)
        assert caught.value.trouble is ModelTrouble.DEADLINE
    assert 1.0 <= mind.waiting.seconds < 2.0
    assert mind.waiting.unanswered == 1, "the second time nobody was asked"
    quick = Billed(ScriptedMind({"fix": "text"}), Budget(money_usd=1.0, seconds=3.3))
    quick.waiting = mind.waiting
    with pytest.raises(ModelError):
        await quick.write(WRITTEN)
