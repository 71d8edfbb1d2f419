"""REFLECT: from a finished mission and its publication to a reflection and a lesson, by rules."""

from collections.abc import Sequence
from typing import assert_never

from bot.domain.counted import counted
from bot.domain.lesson import Insight, Lesson, RecalledLesson, Reflection, SuggestedImprovement
from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.domain.request import Depth
from bot.lessons.calibration import confidence_by_rules
from bot.lessons.words import words_of
from sandbox.gate import clean
from sandbox.types import TestResult

LINE_CHARS = 300
NAMES_KEPT = 10


def reflect(
    context: MissionContext, publication: Publication, recalled: Sequence[RecalledLesson]
) -> tuple[Reflection, Lesson]:
    """Look back at a mission, whatever its outcome.

    Args:
        context: The finished mission.
        publication: What people were told.
        recalled: The lessons it had at hand.

    Returns:
        What it showed, and the one lesson that is kept; every text in it is gated.
    """
    outcome = publication.outcome or context.outcome or Outcome.ERROR
    sentence = _line(_sentence(context, outcome))
    insights = (
        _result(context, outcome),
        _cost(context),
        *(_use_of_memory(context, one) for one in recalled[:3]),
    )
    reflection = Reflection(
        insights=insights,
        lessons_learned=(sentence,),
        improvements=_improvements(context, outcome),
        confidence=_sureness(context, outcome),
    )
    return reflection, _lesson(context, publication, outcome, sentence)


def _lesson(context: MissionContext, publication: Publication, outcome: Outcome, sentence: str) -> Lesson:
    failures = failures_of(context)
    candidate = context.fix[0] if context.fix else None
    first = failures[0] if failures else None
    texts = [sentence, *_tests(context), *(text for f in failures for text in (f.error_message or "", f.file or ""))]
    return Lesson(
        id=context.mission_id,
        mission_id=context.mission_id,
        created_at=context.created_at,
        repository_id=context.request.memory_key,
        fingerprint=_line(context.fingerprint),
        outcome=outcome.value,
        error=_line(first.error) if first and first.error else None,
        tests=tuple(_line(name) for name in _tests(context)),
        files=tuple(_line(path) for path in _files(context)),
        rung=int(candidate.rung) if candidate else None,
        template=_line(candidate.template or candidate.fixer) if candidate else None,
        sentence=sentence,
        keywords=words_of(_line(text) for text in texts),
        fate="open" if publication.pull_request is not None and outcome is Outcome.FIXED else "unknown",
        pull_request=publication.pull_request if outcome is Outcome.FIXED else None,
        # Before calibration: calibrating on calibrated numbers would chase its own tail.
        confidence=confidence_by_rules(context).value,
    )


def failures_of(context: MissionContext) -> tuple[TestResult, ...]:
    """The failures a mission was about, from the latest stage that knows them."""
    if context.test_results is not None and context.test_results.failures:
        return context.test_results.failures
    if context.diagnosis is not None and context.diagnosis.failures:
        return context.diagnosis.failures
    if context.triage is not None and context.triage.report is not None:
        return context.triage.report.failures
    return ()


def _sentence(context: MissionContext, outcome: Outcome) -> str:  # noqa: C901, PLR0911, PLR0912 - a table of all outcomes
    tests = ", ".join(_tests(context)[:3]) or context.test_command or "the command"
    match outcome:
        case Outcome.FIXED:
            return f"{_winner(context)} in {', '.join(_files(context)) or 'the code'} fixed {tests}: {_title(context)}"
        case Outcome.PARTIAL:
            return f"{_winner(context)} fixed a part of {tests} only: {context.reason}"
        case Outcome.NOT_REPRODUCED:
            return f"{tests} was red on GitHub and passed here: {context.reason}"
        case Outcome.FLAKY:
            triage = context.triage
            runs = f"red in {triage.red_runs} of {triage.runs} runs" if triage else "sometimes red"
            return f"{tests} is flaky, {runs} of the same commit"
        case Outcome.BASE_RED:
            return f"{tests} was red on the base commit already"
        case Outcome.INFRA:
            return f"{tests} failed through an outage: {context.reason}"
        case Outcome.ENV_UNBUILDABLE:
            return f"the environment could not be rebuilt: {context.reason}"
        case Outcome.NEEDS_HUMAN:
            return f"{tests} needed a person: {context.question or context.reason}"
        case Outcome.NO_FIX:
            if _only_looked(context):
                return f"{tests} was reproduced, and only that was asked for: {context.reason}"
            return f"no fix for {tests} after {counted(context.candidates_tried, 'candidate')}: {context.reason}"
        case Outcome.BUDGET:
            return f"the budget ended before {tests} was fixed ({counted(context.candidates_tried, 'candidate')} tried)"
        case Outcome.STALE:
            return f"the branch moved while {tests} was looked at"
        case Outcome.DUPLICATE:
            return f"a fix for {tests} was open already"
        case Outcome.POLICY:
            return f"not allowed here: {context.reason}"
        case Outcome.CANCELLED:
            return f"the mission on {tests} was stopped on request"
        case Outcome.ERROR:
            return f"an error of ours ended the mission on {tests}: {context.reason}"
        case _:
            assert_never(outcome)


def _only_looked(context: MissionContext) -> bool:
    """Whether nobody wanted a fix."""
    return context.request.depth is not Depth.FIX


def _result(context: MissionContext, outcome: Outcome) -> Insight:
    success = outcome in {Outcome.FIXED, Outcome.PARTIAL}
    evidence = context.fix[1].reason if context.fix else context.reason
    return Insight(
        category="success" if success else "failure",
        description=_line(f"ended {outcome.value}: {context.reason}"),
        evidence=_line(evidence),
        impact="the same rung is tried first on a like failure" if success else "known before the next try",
    )


def _cost(context: MissionContext) -> Insight:
    spent = f"{context.seconds:.1f} s, ${context.cost_usd:.4f}"
    candidates = counted(context.candidates_tried, "candidate")
    return Insight(
        category="efficiency",
        description=f"{candidates} in {counted(len(context.iterations), 'iteration')}, {spent}",
        evidence=f"mission {_line(context.mission_id)}",
    )


def _use_of_memory(context: MissionContext, recalled: RecalledLesson) -> Insight:
    template = context.fix[0].template if context.fix else None
    helped = template is not None and template == recalled.lesson.template
    return Insight(
        category="approach",
        description=_line(f"{'used' if helped else 'did not use'} what mission {recalled.lesson.mission_id} learned"),
        evidence=_line(f"{recalled.reason}: {recalled.lesson.sentence}"),
        impact="memory led to the fix" if helped else "",
    )


def _improvements(context: MissionContext, outcome: Outcome) -> tuple[SuggestedImprovement, ...]:
    error = next((f.error for f in failures_of(context) if f.error), None) or "this error"
    if outcome is Outcome.NO_FIX and not _only_looked(context):
        text = f"a template (or a model) for {error}: the rungs allowed here have none that fits"
        return (SuggestedImprovement(area="execution", suggestion=_line(text), priority="medium"),)
    if outcome is Outcome.BUDGET:
        text = "raise the time limit, or narrow the suspects first"
        return (SuggestedImprovement(area="planning", suggestion=text, priority="medium"),)
    if outcome is Outcome.ENV_UNBUILDABLE:
        text = f"teach the recipe: {context.advice or context.reason}"
        return (SuggestedImprovement(area="tool-usage", suggestion=_line(text), priority="high"),)
    if outcome is Outcome.ERROR:
        text = f"look into error {context.error_reference or 'without a reference'}"
        return (SuggestedImprovement(area="execution", suggestion=_line(text), priority="high"),)
    if context.fix is not None and context.fix[0].behaviours > 1:
        text = f"a test that tells the {context.fix[0].behaviours} passing behaviours apart"
        return (SuggestedImprovement(area="reasoning", suggestion=text, priority="medium"),)
    return ()


def _sureness(context: MissionContext, outcome: Outcome) -> float:
    """How much the reflection itself can be relied on: measured outcomes most, our own errors least."""
    if outcome is Outcome.FIXED:
        return confidence_by_rules(context).value or 0.5
    measured = {Outcome.FLAKY, Outcome.BASE_RED, Outcome.NOT_REPRODUCED, Outcome.ENV_UNBUILDABLE}
    return 0.9 if outcome in measured else 0.6


def _winner(context: MissionContext) -> str:
    if context.fix is None:
        return "nothing"
    return context.fix[0].template or context.fix[0].fixer


def _title(context: MissionContext) -> str:
    return context.fix[0].title if context.fix else context.reason


def _tests(context: MissionContext) -> tuple[str, ...]:
    return tuple(failure.name for failure in failures_of(context))[:NAMES_KEPT]


def _files(context: MissionContext) -> tuple[str, ...]:
    if context.fix is None:
        return ()
    candidate, verification = context.fix
    paths = [edit.path for edit in verification.edits] or [change.path for change in candidate.changes]
    return tuple(dict.fromkeys(paths))[:NAMES_KEPT]


def _line(text: str) -> str:
    return " ".join(clean(text, cap=LINE_CHARS).split())
