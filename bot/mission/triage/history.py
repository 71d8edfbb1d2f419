"""Number of reruns: more for a known flake, fewer for a known bug or a checker's findings."""

from bot.domain.mission import MissionContext, Outcome
from bot.domain.request import MissionRequest
from bot.errors import MetaAgentError
from bot.mission.judging.analyze import fingerprint
from bot.mission.judging.recalled import recall_lessons
from bot.mission.run import Run
from bot.mission.steps import Trouble
from bot.mission.triage.rates import LEAST, RunPlan
from bot.ports import Recall
from sandbox.types import TestReport

_RECURRING = frozenset({Outcome.FLAKY, Outcome.INFRA, Outcome.ENV_UNBUILDABLE})
"""Outcomes that are no fault of the commit and come back."""


async def plan_by_history(
    plan: RunPlan, red: TestReport, request: MissionRequest, recall: Recall
) -> RunPlan:
    """Return the number of reruns, by what is known of the failing tests.

    A test that was flaky may be red several times in a row. A failure whose fix was merged is
    steady, and so are findings of a linter or type checker: one more red run confirms them.

    Args:
        plan: The number of reruns without history.
        red: The first run.
        request: The mission's request.
        recall: The lessons.
    """
    lessons = [one.lesson for one in await recall_lessons(request, red, recall)]
    if any(one.outcome == Outcome.FLAKY and red.failing & set(one.tests) for one in lessons):
        return plan.with_(enough=max(plan.enough, plan.most - 1))
    same = [one for one in lessons if one.fingerprint == fingerprint(red)]
    is_known = any(one.outcome == Outcome.FIXED and one.fate == "merged" for one in same)
    if is_known or red.traits.is_findings:
        return plan.with_(enough=LEAST, least=LEAST, is_steady=red.traits.is_findings)
    return plan


async def note_earlier_endings(run: Run, trouble: Trouble) -> None:
    """Add the lessons of missions that ended alike: a known outage, gap or flake is named.

    Args:
        run: The mission.
        trouble: Its end.
    """
    if trouble.outcome not in _RECURRING or run.context.lessons:
        return
    try:
        found = await run.ports.recall.recall(
            repository_id=run.context.request.memory_key,
            fingerprint="",
            error=None,
            words=(trouble.reason, *_failing(run.context)),
        )
    except MetaAgentError:
        return
    run.know(lessons=tuple(one for one in found if one.lesson.outcome == trouble.outcome))


def _failing(context: MissionContext) -> tuple[str, ...]:
    report = context.triage.report if context.triage else None
    return tuple(sorted(report.failing)) if report else ()
