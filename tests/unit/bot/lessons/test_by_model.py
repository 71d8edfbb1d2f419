"""Reflection by a model: only on what was verified, only in addition, and only as clean lines."""

import pytest

from bot.domain.mission import Budget, MissionContext, Outcome
from bot.domain.model import Judging, ModelCall, ModelTrouble, Role
from bot.domain.publication import Publication
from bot.lessons.by_model import add_reflection
from bot.lessons.reflect import reflect
from tests.builders import a_mission
from tests.fakes.scripted_mind import ScriptedMind
from tests.unit.bot.mission.minded import a_mind

pytestmark = pytest.mark.anyio


def ended(outcome: Outcome = Outcome.FIXED, **changes: object) -> MissionContext:
    return a_mission(outcome, budget=Budget(money_usd=1.0), **changes)


async def told(mind: ScriptedMind, context: MissionContext) -> tuple[str, str]:
    """Who spoke, and the sentence that is kept."""
    reflection, lesson = reflect(context, Publication(mission_id=context.mission_id), ())
    reflection, lesson = await add_reflection(mind, reflection, lesson, context)
    return reflection.by, lesson.sentence


async def test_a_verified_fix_teaches_what_the_model_adds_to_the_rules() -> None:
    context = ended()
    rules = (await told(ScriptedMind(roles=[]), context))[1]
    by, sentence = await told(a_mind(), context)
    assert by == "model"
    assert sentence == f"{rules.rstrip('.')}. calc.add was written with a minus"


@pytest.mark.parametrize("outcome", [one for one in Outcome if one is not Outcome.FIXED])
async def test_nothing_but_a_verified_fix_is_put_before_a_model(outcome: Outcome) -> None:
    mind = a_mind()
    by, _ = await told(mind, ended(outcome))
    assert by == "rules"
    assert not mind.questions


@pytest.mark.parametrize(
    "mind", [a_mind(roles=[Role.FIX]), a_mind({"reflect": ModelTrouble.UNREADABLE})]
)
async def test_without_a_usable_answer_the_lesson_is_the_rules_own(mind: ScriptedMind) -> None:
    context = ended()
    _, lesson = reflect(context, Publication(mission_id=context.mission_id), ())
    assert (await told(mind, context))[1] == lesson.sentence


async def test_spent_money_asks_nobody() -> None:
    mind = a_mind()
    await told(mind, ended().with_(budget=Budget(money_usd=0.5, spent_usd=0.5)))
    assert not mind.questions


async def test_what_is_kept_is_short_clean_and_in_lines() -> None:
    token = "ghp_" + "a" * 36
    lessons = ["x\u202ey\x1b[31m\nnew line " + "z" * 900, f"use {token}", "third", ""]
    mind = a_mind({"reflect": {"lessons_learned": lessons}})
    _, sentence = await told(mind, ended())
    assert "\u202e" not in sentence
    assert "\x1b" not in sentence
    assert "\n" not in sentence
    assert token not in sentence
    assert "third" not in sentence
    assert len(sentence) < 1_000


@pytest.mark.parametrize(
    ("judging", "roles", "asked"),
    [
        (Judging.ALWAYS, (), 1),
        (Judging.WHEN_UNSURE, (), 0),
        (Judging.WHEN_UNSURE, (Role.FIX,), 0),
        (Judging.WHEN_UNSURE, (Role.FIX, Role.JUDGE), 1),
        (Judging.NEVER, (Role.JUDGE,), 0),
    ],
)
async def test_a_mission_that_needed_no_judge_is_not_put_before_one(
    judging: Judging, roles: tuple[Role, ...], asked: int
) -> None:
    mind = a_mind(judging=judging)
    calls = tuple(ModelCall(stage="s", role=role, model="m", cost_usd=0.0) for role in roles)
    await told(mind, ended(calls=calls))
    assert len(mind.questions) == asked
