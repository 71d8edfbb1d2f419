"""Reruns by what earlier missions measured, and endings that come back."""

from typing import Any

import pytest
from typing_extensions import override

from bot.domain.lesson import Lesson, RecalledLesson
from bot.domain.mission import MissionContext, Outcome
from bot.errors import StoreError
from bot.mission.triage.history import plan_by_history
from bot.mission.triage.rates import LEAST, RunPlan, another
from sandbox.errors import SetupFailed
from tests.builders import a_lesson, a_lint_report, a_report, a_running_mission
from tests.fakes.scripted_fixer import KnownLessons
from tests.unit.bot.mission.world import ADDS, EVEN, MENDED, Stage, a_world

pytestmark = pytest.mark.anyio


def recalling(*lessons: Lesson) -> KnownLessons:
    return KnownLessons(
        *(RecalledLesson(lesson=one, score=1.0, reason="similar words") for one in lessons)
    )


async def measured(*lessons: Lesson) -> MissionContext:
    """A mission on a steady failure."""
    return await Stage(world=a_world(ADDS, base=MENDED), recall=recalling(*lessons)).play()


def runs_of(context: MissionContext) -> int:
    assert context.triage is not None
    return context.triage.runs


async def test_a_known_flake_is_run_more_often_and_a_merged_failure_less() -> None:
    usual = await measured()
    flaky = a_lesson(outcome="FLAKY", tests=(EVEN,), fingerprint="")
    more = await measured(flaky)
    assert runs_of(more) == 10 > runs_of(usual) == 6
    same = a_lesson(fingerprint=usual.fingerprint, fate="merged")
    less = await measured(same)
    assert runs_of(less) == 4
    assert less.outcome is Outcome.FIXED
    assert runs_of(await measured(same, flaky)) == 10, "chance comes first"


async def test_findings_of_a_checker_are_no_chance() -> None:
    plan, request = RunPlan(), a_running_mission().request
    findings = await plan_by_history(plan, a_lint_report(), request, recalling())
    tests = await plan_by_history(plan, a_report(), request, recalling())
    assert (findings.enough, tests.enough) == (LEAST, 5)
    assert not another([True], 0.0, findings), "red twice here and once in CI"
    assert another([False], 0.0, findings), "a checker that disagrees with itself is measured"
    assert another([True], 0.0, tests)


@pytest.mark.parametrize(
    "lesson",
    [
        a_lesson(outcome="FLAKY", tests=("t.py::test_other",), fingerprint=""),
        a_lesson(fate="merged"),
        a_lesson(fate="closed"),
    ],
)
async def test_other_lessons_change_no_measurement(lesson: Lesson) -> None:
    assert runs_of(await measured(lesson)) == 6


async def unbuildable(recall: KnownLessons) -> MissionContext:
    def no_setup(call: str) -> Any:
        return (
            SetupFailed("the set-up failed", log="no package libfoo") if "facts" in call else None
        )

    return await Stage(world=a_world(ADDS, trouble=no_setup), recall=recall).play()


async def test_a_gap_that_ended_earlier_missions_is_named() -> None:
    gap = a_lesson(outcome="ENV_UNBUILDABLE", sentence="the environment could not be rebuilt")
    context = await unbuildable(recalling(gap, a_lesson(id="a fix")))
    assert context.outcome is Outcome.ENV_UNBUILDABLE
    assert [one.lesson for one in context.lessons] == [gap]


class BrokenLessons(KnownLessons):
    """They cannot be read."""

    @override
    async def recall(self, **_: Any) -> Any:
        raise StoreError("the lessons cannot be used")


async def test_lessons_that_cannot_be_read_end_no_mission() -> None:
    context = await unbuildable(BrokenLessons())
    assert (context.outcome, context.lessons) == (Outcome.ENV_UNBUILDABLE, ())
    steady = await Stage(world=a_world(ADDS, base=MENDED), recall=BrokenLessons()).play()
    assert runs_of(steady) == 6
