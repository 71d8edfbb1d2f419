"""How far a mission goes when somebody only wants to know."""

import pytest

from bot.domain.mission import Outcome
from bot.domain.publication import Publication
from bot.domain.request import Depth
from bot.lessons.reflect import reflect
from bot.publish.report import answer, mission_report
from bot.publish.story import build_story, headline
from sandbox.types import TestReport
from tests.fakes.scripted_workspace import Asked, a_run
from tests.unit.bot.mission.world import MENDED, PATH, Stage, a_world, outcomes

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("depth", [Depth.REPRODUCE, Depth.EXPLAIN])
async def test_who_only_wants_to_know_gets_no_change(depth: Depth) -> None:
    stage = Stage()
    context = await stage.play(depth=depth)
    assert context.outcome is Outcome.NO_FIX
    assert stage.fixers[0].budgets == [], "no rung was asked"
    assert context.fix is None
    assert context.triage is not None
    assert context.triage.red_runs == context.triage.runs > 1
    assert "asked for" in context.reason
    assert (context.diagnosis is not None) is (depth is Depth.EXPLAIN)


async def test_it_says_that_it_was_reproduced_and_not_that_nothing_was_found() -> None:
    story = build_story(await Stage().play(depth=Depth.EXPLAIN))
    assert "the failure was reproduced (red in" in headline(story)
    assert "no fix was found" not in mission_report(story)
    assert "<summary>Where to look</summary>" in mission_report(story)
    assert "**Next:** " in answer(story)


async def test_what_is_no_bug_is_told_as_ever() -> None:
    assert (
        await Stage(world=a_world(MENDED)).play(depth=Depth.REPRODUCE)
    ).outcome is Outcome.NOT_REPRODUCED


async def test_nothing_is_measured_a_second_time_because_no_fix_was_looked_for() -> None:
    runs: list[Asked] = []

    def counted(asked: Asked) -> TestReport:
        runs.append(asked)
        return a_run(outcomes(asked.files[PATH]), targets=asked.targets)

    await Stage(world=a_world(run=counted)).play(depth=Depth.REPRODUCE)
    reproduced = len(runs)
    runs.clear()
    await Stage(world=a_world(run=counted)).play(depth=Depth.EXPLAIN)
    assert len(runs) == reproduced


async def test_the_lesson_of_a_look_is_no_lesson_about_fixes() -> None:
    context = await Stage().play(depth=Depth.EXPLAIN)
    reflection, lesson = reflect(context, Publication(mission_id=context.mission_id), ())
    assert "only the cause was asked for" in lesson.sentence
    assert reflection.improvements == ()
