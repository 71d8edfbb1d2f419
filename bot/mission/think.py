"""Think about a failure until it is understood: analyze, assess the thought, look wider; three passes at most."""

from bot.domain.decision import Action
from bot.domain.diagnosis import Diagnosis, FailureKind
from bot.domain.lesson import RecalledLesson
from bot.domain.mission import MissionContext
from bot.domain.verdict import MAX_THOUGHT_PASSES, LiveAssessment, Thought
from bot.errors import MetaAgentError
from bot.mission.analyze import analyze_failures, fingerprint
from bot.mission.by_model.analysis import Look, analyze_by_model
from bot.mission.by_model.reasoning import assess_by_model
from bot.mission.evaluate import adjusted, assess_live
from bot.mission.mind import Billed
from bot.mission.suspects import from_hint, merged
from bot.ports import Recall, Workspace
from sandbox.types import Frozen, SourceDiff, TestReport


class Thinking(Frozen):
    """A diagnosis and how it came about."""

    diagnosis: Diagnosis
    lessons: tuple[RecalledLesson, ...] = ()
    assessments: tuple[LiveAssessment, ...] = ()


async def think(
    context: MissionContext, report: TestReport, workspace: Workspace, recall: Recall, *, mind: Billed
) -> Thinking:
    """Diagnose a red run: look, judge the thought, look wider; three times at most.

    After a decision to look again it is three times in any case, unless a model ends the thinking.

    Args:
        context: What triage found, and which repository it is.
        report: The red run.
        workspace: On the tree that was run.
        recall: Lessons of earlier missions.
        mind: The models of the mission.
    """
    lessons = await _recalled(context, report, recall)
    context = context.with_(lessons=lessons or context.lessons)
    named = await from_hint(context.request.hint, workspace)
    assessments: list[LiveAssessment] = []
    look = _first_look(context)
    while True:
        diagnosis = await _diagnosed(context, report, workspace, mind, look=look)
        assessment = await _assessed(diagnosis, mind)
        assessments.append(assessment)
        if len(assessments) == MAX_THOUGHT_PASSES or _is_enough(assessment, again=look.again):
            confidence, suspects = adjusted(diagnosis.confidence, assessment), merged((*named, *diagnosis.suspects))
            diagnosis = diagnosis.with_(confidence=confidence, suspects=suspects)
            return Thinking(diagnosis=diagnosis, lessons=lessons, assessments=tuple(assessments))
        look = look.with_(number=len(assessments) + 1, feedback=assessment.feedback)


def _first_look(context: MissionContext) -> Look:
    """With what the decision before this one asked for, if it was to look again."""
    before = context.iterations[-2].next_action if len(context.iterations) > 1 else None
    if before is None or before.decision.action is not Action.RETRY_WITH_CONTEXT:
        return Look()
    return Look(again=True, feedback=before.decision.reason, wanted=before.wanted)


async def _diagnosed(
    context: MissionContext, report: TestReport, workspace: Workspace, mind: Billed, *, look: Look
) -> Diagnosis:
    """By the rules, and by a model on top of them."""
    rules = await analyze_failures(
        report,
        workspace,
        kind=context.triage.kind if context.triage else FailureKind.BUG,
        red_diff=context.facts.red_diff if context.facts else SourceDiff(),
        lessons=context.lessons,
        passes=look.number,
    )
    return await mind.or_rules(
        rules, lambda models, found: analyze_by_model(models, found, context, workspace, look=look)
    )


async def _assessed(diagnosis: Diagnosis, mind: Billed) -> LiveAssessment:
    """The thought, judged just after it was thought."""
    rules = assess_live(Thought(reasoning=diagnosis.reasoning, confidence=diagnosis.confidence), diagnosis)
    return await mind.or_rules(rules, lambda models, found: assess_by_model(models, found, diagnosis))


def _is_enough(assessment: LiveAssessment, *, again: bool) -> bool:
    """Whether to stop thinking: a model says so, or nobody wants to look deeper and nobody asked for another look."""
    if assessment.by == "model" and not assessment.should_continue:
        return True
    return not again and not (assessment.should_continue and assessment.should_deepen)


async def _recalled(context: MissionContext, report: TestReport, recall: Recall) -> tuple[RecalledLesson, ...]:
    """Lessons of earlier missions; a store that fails makes us forget, it does not end a mission."""
    try:
        return await recall.recall(
            repository_id=context.request.memory_key,
            fingerprint=fingerprint(report),
            error=next((f.error for f in report.failures if f.error), None),
            words=_words(report),
        )
    except MetaAgentError:
        return ()


def _words(report: TestReport) -> tuple[str, ...]:
    """What the failing tests are called and say, as search words."""
    words = [part for f in report.failures for part in (f.name, f.file or "", f.error or "", f.error_message or "")]
    return tuple(dict.fromkeys(w for w in " ".join(words).split() if w.isascii()))[:60]
