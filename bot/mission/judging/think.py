"""Think about a failure in up to three passes: analyze, assess the thought, read more context."""

from collections.abc import Awaitable, Callable

from bot.domain.decision import Action
from bot.domain.diagnosis import Diagnosis, FailureKind
from bot.domain.lesson import RecalledLesson
from bot.domain.mission import MissionContext
from bot.domain.model import Judging
from bot.domain.verdict import MAX_THOUGHT_PASSES, LiveAssessment, Thought
from bot.mission.failures.suspects import from_hint, merged
from bot.mission.judging.analyze import analyze_failures
from bot.mission.judging.analyze_by_model import Look, analyze_by_model
from bot.mission.judging.evaluate import adjusted, assess_live
from bot.mission.judging.evaluate_by_model import assess_by_model
from bot.mission.judging.recalled import recall_lessons
from bot.mission.mind import Billed
from bot.ports import Recall, Workspace
from sandbox.types import Frozen, SourceDiff, TestReport

_LOOKING_AGAIN = 2
"""Minimum number of passes of a second analysis; the first one repeats the earlier analysis."""


class Thinking(Frozen):
    """A diagnosis and its passes."""

    diagnosis: Diagnosis
    lessons: tuple[RecalledLesson, ...] = ()
    assessments: tuple[LiveAssessment, ...] = ()
    alone: Diagnosis | None = None
    """The diagnosis by rules alone; None if no model was asked."""


Rules = Callable[[int], Awaitable[Diagnosis]]
"""Returns the diagnosis by rules for a pass."""


async def think(
    context: MissionContext,
    report: TestReport,
    workspace: Workspace,
    recall: Recall,
    *,
    mind: Billed,
) -> Thinking:
    """Diagnose a red run in up to three passes: analyze, assess, read more context.

    A second analysis takes as many passes as the evaluation recommended, at least two, unless a
    model ends the thinking.

    Args:
        context: The mission after triage.
        report: The red run.
        workspace: Workspace with the tree that was run.
        recall: Lessons of earlier missions.
        mind: The models of the mission.
    """
    lessons = await recall_lessons(context.request, report, recall)
    context = context.with_(lessons=lessons or context.lessons)
    named = await from_hint(context.request.hint, workspace)
    rules, look = _rules(context, report, workspace), _first_look(context)

    async def by_model(number: int, feedback: str) -> Diagnosis:
        now = look.with_(number=number, feedback=feedback)
        return await mind.or_rules(
            await rules(number),
            lambda models, found: analyze_by_model(models, found, context, workspace, look=now),
        )

    async def by_rules(number: int, _: str) -> Diagnosis:
        return await rules(number)

    asks = mind.judging is Judging.ALWAYS
    # Both share the cached passes by rules, so the second run of them costs nothing.
    diagnosis, assessments = await _thought(
        by_model if asks else by_rules, mind if asks else None, look
    )
    alone = (await _thought(by_rules, None, look))[0] if asks else None
    return Thinking(
        diagnosis=diagnosis.with_(suspects=merged((*named, *diagnosis.suspects))),
        lessons=lessons,
        assessments=assessments,
        alone=None if alone is None else alone.with_(suspects=merged((*named, *alone.suspects))),
    )


async def _thought(
    diagnosed: Callable[[int, str], Awaitable[Diagnosis]], mind: Billed | None, look: Look
) -> tuple[Diagnosis, tuple[LiveAssessment, ...]]:
    """Return the last diagnosis, after as many passes as the assessments ask for."""
    assessments: list[LiveAssessment] = []
    feedback = look.feedback
    while True:
        diagnosis = await diagnosed(len(assessments) + 1, feedback)
        assessment = await _assessed(diagnosis, mind)
        assessments.append(assessment)
        more = len(assessments) < look.least
        if len(assessments) == MAX_THOUGHT_PASSES or _is_enough(assessment, more=more):
            confidence = adjusted(diagnosis.confidence, assessment)
            return diagnosis.with_(confidence=confidence), tuple(assessments)
        feedback = assessment.feedback


def _first_look(context: MissionContext) -> Look:
    """Return the first pass, with the files that the previous decision asked for."""
    earlier = context.iterations[-2] if len(context.iterations) > 1 else None
    before = earlier.next_action if earlier else None
    if earlier is None or before is None or before.decision.action is not Action.RETRY_WITH_CONTEXT:
        return Look()
    recommended = earlier.meta.passes_recommended if earlier.meta else MAX_THOUGHT_PASSES
    return Look(
        least=max(_LOOKING_AGAIN, recommended),
        feedback=before.decision.reason,
        wanted=before.wanted,
    )


def _rules(context: MissionContext, report: TestReport, workspace: Workspace) -> Rules:
    """Return a function that computes each pass by rules once."""
    made: dict[int, Diagnosis] = {}

    async def looked(number: int) -> Diagnosis:
        if number not in made:
            made[number] = await analyze_failures(
                report,
                workspace,
                kind=_kind(context, report),
                red_diff=context.facts.red_diff if context.facts else SourceDiff(),
                lessons=context.lessons,
                passes=number,
            )
        return made[number]

    return looked


def _kind(context: MissionContext, report: TestReport) -> FailureKind:
    """Return the kind that triage measured, or that of a later command."""
    kind = context.triage.kind if context.triage else FailureKind.BUG
    first = context.test_results
    if first is None or report.steps <= first.steps:
        return kind
    return FailureKind.LINT if report.traits.is_findings else FailureKind.BUG


async def _assessed(diagnosis: Diagnosis, mind: Billed | None) -> LiveAssessment:
    """Return the thought with its live assessment."""
    rules = assess_live(
        Thought(reasoning=diagnosis.reasoning, confidence=diagnosis.confidence), diagnosis
    )
    if mind is None:
        return rules
    return await mind.or_rules(
        rules, lambda models, found: assess_by_model(models, found, diagnosis)
    )


def _is_enough(assessment: LiveAssessment, *, more: bool) -> bool:
    """Return True to stop.

    A model may stop it; else no assessment asks for more, after enough passes.
    """
    if assessment.by == "model" and not assessment.should_continue:
        return True
    return not more and not (assessment.should_continue and assessment.should_deepen)
