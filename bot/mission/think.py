"""Think about a failure until it is understood: analyze, assess the thought, look wider; three passes at most."""

from collections.abc import Awaitable, Callable

from bot.domain.decision import Action
from bot.domain.diagnosis import Diagnosis, FailureKind
from bot.domain.lesson import RecalledLesson
from bot.domain.mission import MissionContext
from bot.domain.model import Role
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

_LOOKING_AGAIN = 2
"""Passes at least: the first of them sees what was seen before."""


class Thinking(Frozen):
    """A diagnosis and how it came about."""

    diagnosis: Diagnosis
    lessons: tuple[RecalledLesson, ...] = ()
    assessments: tuple[LiveAssessment, ...] = ()
    alone: Diagnosis | None = None
    """What the rules alone came to; None where no model was asked."""


Rules = Callable[[int], Awaitable[Diagnosis]]
"""What the rules see on a pass."""


async def think(
    context: MissionContext, report: TestReport, workspace: Workspace, recall: Recall, *, mind: Billed
) -> Thinking:
    """Diagnose a red run: look, judge the thought, look wider; three times at most.

    After a decision to look again it is as often as the evaluation before it recommended, and twice at least, unless a
    model ends the thinking.

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
    rules, look = _rules(context, report, workspace), _first_look(context)

    async def by_model(number: int, feedback: str) -> Diagnosis:
        now = look.with_(number=number, feedback=feedback)
        return await mind.or_rules(
            await rules(number), lambda models, found: analyze_by_model(models, found, context, workspace, look=now)
        )

    async def by_rules(number: int, _: str) -> Diagnosis:
        return await rules(number)

    diagnosis, assessments = await _thought(by_model, mind, look)
    alone = (await _thought(by_rules, None, look))[0] if mind.has(Role.JUDGE) else None
    return Thinking(
        diagnosis=diagnosis.with_(suspects=merged((*named, *diagnosis.suspects))),
        lessons=lessons,
        assessments=assessments,
        alone=None if alone is None else alone.with_(suspects=merged((*named, *alone.suspects))),
    )


async def _thought(
    diagnosed: Callable[[int, str], Awaitable[Diagnosis]], mind: Billed | None, look: Look
) -> tuple[Diagnosis, tuple[LiveAssessment, ...]]:
    """Passes of thinking until it is enough, by whoever diagnoses and whoever judges that; the last diagnosis."""
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
    """With what the decision before this one asked for, if it was to look again."""
    earlier = context.iterations[-2] if len(context.iterations) > 1 else None
    before = earlier.next_action if earlier else None
    if earlier is None or before is None or before.decision.action is not Action.RETRY_WITH_CONTEXT:
        return Look()
    recommended = earlier.meta.passes_recommended if earlier.meta else MAX_THOUGHT_PASSES
    return Look(least=max(_LOOKING_AGAIN, recommended), feedback=before.decision.reason, wanted=before.wanted)


def _rules(context: MissionContext, report: TestReport, workspace: Workspace) -> Rules:
    """Each pass of the rules, made once."""
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
    """Return the kind triage found, or that of a later command of the line, which triage did not see."""
    kind = context.triage.kind if context.triage else FailureKind.BUG
    first = context.test_results
    if first is None or report.steps <= first.steps:
        return kind
    return FailureKind.LINT if report.runner == "diagnostics" else FailureKind.BUG


async def _assessed(diagnosis: Diagnosis, mind: Billed | None) -> LiveAssessment:
    """The thought, judged just after it was thought."""
    rules = assess_live(Thought(reasoning=diagnosis.reasoning, confidence=diagnosis.confidence), diagnosis)
    if mind is None:
        return rules
    return await mind.or_rules(rules, lambda models, found: assess_by_model(models, found, diagnosis))


def _is_enough(assessment: LiveAssessment, *, more: bool) -> bool:
    """Whether to stop thinking: a model says so, or nobody wants to look deeper and nobody asked for more looks."""
    if assessment.by == "model" and not assessment.should_continue:
        return True
    return not more and not (assessment.should_continue and assessment.should_deepen)


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
