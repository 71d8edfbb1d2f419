"""Think about a failure until it is understood: analyze, assess the thought, look wider; three passes at most."""

from bot.domain.diagnosis import Diagnosis, FailureKind
from bot.domain.lesson import RecalledLesson
from bot.domain.mission import MissionContext
from bot.domain.verdict import MAX_THOUGHT_PASSES, LiveAssessment, Thought
from bot.errors import MetaAgentError
from bot.mission.analyze import analyze_failures, fingerprint
from bot.mission.evaluate import adjusted, assess_live
from bot.mission.suspects import from_hint, merged
from bot.ports import Recall, Workspace
from sandbox.types import Frozen, SourceDiff, TestReport


class Thinking(Frozen):
    """A diagnosis and how it came about."""

    diagnosis: Diagnosis
    lessons: tuple[RecalledLesson, ...] = ()
    assessments: tuple[LiveAssessment, ...] = ()


async def think(
    context: MissionContext, report: TestReport, workspace: Workspace, recall: Recall, *, passes: int = 1
) -> Thinking:
    """Diagnose a red run.

    Args:
        context: What triage found, and which repository it is.
        report: The red run.
        workspace: On the tree that was run.
        recall: Lessons of earlier missions.
        passes: How many passes at least.
    """
    lessons = await _recalled(context, report, recall)
    named = await from_hint(context.request.hint, workspace)
    assessments: list[LiveAssessment] = []
    while True:
        diagnosis = await analyze_failures(
            report,
            workspace,
            kind=context.triage.kind if context.triage else FailureKind.BUG,
            red_diff=context.facts.red_diff if context.facts else SourceDiff(),
            lessons=lessons,
            passes=len(assessments) + 1,
        )
        assessment = assess_live(Thought(reasoning=diagnosis.reasoning, confidence=diagnosis.confidence), diagnosis)
        assessments.append(assessment)
        deepens = assessment.should_continue and assessment.should_deepen
        enough = len(assessments) >= passes and not deepens
        if enough or len(assessments) == MAX_THOUGHT_PASSES:
            confidence, suspects = adjusted(diagnosis.confidence, assessment), merged((*named, *diagnosis.suspects))
            diagnosis = diagnosis.with_(confidence=confidence, suspects=suspects)
            return Thinking(diagnosis=diagnosis, lessons=lessons, assessments=tuple(assessments))


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
