"""REFLECT by rules: a finished mission and its publication become a reflection and a lesson."""

from collections.abc import Sequence
from typing import Literal, assert_never

from bot.domain.counted import counted
from bot.domain.lesson import (
    Insight,
    Lesson,
    RecalledLesson,
    Reflection,
    RememberedFix,
    SuggestedImprovement,
)
from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.domain.request import Depth
from bot.lessons.calibration import confidence_by_rules
from bot.lessons.outcomes import DIFF_CHARS
from bot.lessons.step_results import list_steps
from bot.lessons.words import words_of
from sandbox.gate import clean
from sandbox.types import KnownCall, TestResult

LINE_CHARS = 300
"""Length of a text in a lesson, in characters."""
NAMES_KEPT = 10
"""Tests and files listed in a lesson, each."""


def reflect(
    context: MissionContext, publication: Publication, recalled: Sequence[RecalledLesson]
) -> tuple[Reflection, Lesson]:
    """Reflect on a mission of any outcome.

    Args:
        context: The finished mission.
        publication: The published report.
        recalled: The lessons that the mission used.

    Returns:
        The reflection and the lesson to store, with secrets masked in all texts.
    """
    outcome = publication.outcome or context.outcome or Outcome.ERROR
    sentence = _line(_sentence(context, outcome))
    insights = (
        _result(context, outcome),
        _cost(context),
        *(_memory_insight(context, one) for one in recalled[:3]),
    )
    reflection = Reflection(
        insights=insights,
        lessons_learned=(sentence,),
        improvements=_improvements(context, outcome),
        confidence=_reliability(context, outcome),
        seconds=context.seconds,
        steps=list_steps(context),
    )
    return reflection, _lesson(context, publication, outcome, sentence)


def _lesson(
    context: MissionContext, publication: Publication, outcome: Outcome, sentence: str
) -> Lesson:
    failures = failures_of(context)
    candidate = context.fix[0] if context.fix else None
    first = failures[0] if failures else None
    texts = [
        sentence,
        *_tests(context),
        *(text for f in failures for text in (f.error_message or "", f.file or "")),
    ]
    fix = _remembered_fix(context, outcome)
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
        fate="open"
        if publication.pull_request is not None and outcome is Outcome.FIXED
        else "unknown",
        pull_request=publication.pull_request if outcome is Outcome.FIXED else None,
        confidence=confidence_by_rules(context).value,
        # As the gate sees it: a correction is learned from the value to which it is applied.
        rank=candidate.score if candidate is not None and candidate.ranked else None,
        way=publication.way or ("report" if fix is not None else None),
        fix=fix,
    )


def _remembered_fix(context: MissionContext, outcome: Outcome) -> RememberedFix | None:
    """Return the verified change for the next time; None if it may not be stored.

    A change that was only shown is kept as well, since people may refuse it.
    """
    shown = outcome in {Outcome.FIXED, Outcome.NEEDS_HUMAN}
    if not shown or context.fix is None or not context.fix[1].green:
        return None
    candidate, verification = context.fix
    diff = verification.diff
    # A diff that the gate changes contains a secret, or would no longer apply.
    if not diff or len(diff) > DIFF_CHARS or clean(diff, cap=DIFF_CHARS) != diff:
        return None
    used = next((r.lesson for r in context.lessons if r.lesson.id == candidate.recalled_from), None)
    # An edit that was moved from another failure says nothing about this one's search.
    is_same = used is not None and used.fingerprint == context.fingerprint
    first = used.fix if used is not None and is_same else None
    searched = sum(i.attempt.seconds for i in context.iterations if i.attempt)
    return RememberedFix(
        diff=diff,
        title=_line(candidate.title),
        score=candidate.score,
        plausible=candidate.plausible,
        behaviours=candidate.behaviours,
        warnings=tuple(_line(warning) for warning in candidate.warnings[:NAMES_KEPT]),
        candidates=first.candidates if first else context.candidates_tried,
        seconds=first.seconds if first else round(searched, 3),
        calls=tuple(call for call in candidate.calls if _is_clean(call))
        or (first.calls if first else ()),
        alike=tuple(one for one in candidate.alike if clean(one.diff, cap=DIFF_CHARS) == one.diff)
        or (first.alike if first else ()),
    )


def _is_clean(call: KnownCall) -> bool:
    """Return True if the gate changes nothing: a masked call would be another one."""
    return all(
        clean(text, cap=LINE_CHARS) == text for text in (call.path, call.function, call.arguments)
    )


def failures_of(context: MissionContext) -> tuple[TestResult, ...]:
    """Return the mission's failures, from the latest stage that knows them."""
    if context.test_results is not None and context.test_results.failures:
        return context.test_results.failures
    if context.diagnosis is not None and context.diagnosis.failures:
        return context.diagnosis.failures
    if context.triage is not None and context.triage.report is not None:
        return context.triage.report.failures
    return ()


def _sentence(context: MissionContext, outcome: Outcome) -> str:  # noqa: C901, PLR0911, PLR0912
    tests = ", ".join(_tests(context)[:3]) or context.test_command or "the command"
    match outcome:
        case Outcome.FIXED:
            code = ", ".join(_files(context)) or "the code"
            return f"{_winner(context)} in {code} fixed {tests}: {_title(context)}"
        case Outcome.IMPROVED:
            return f"nothing was red, and {', '.join(_files(context))} was improved"
        case Outcome.PARTIAL:
            return f"{_winner(context)} fixed {tests} only partly: {context.reason}"
        case Outcome.NOT_REPRODUCED:
            return f"{tests} was red on GitHub and passed here: {context.reason}"
        case Outcome.FLAKY:
            triage = context.triage
            runs = (
                f"red in {triage.red_runs} of {counted(triage.runs, 'run')}"
                if triage
                else "sometimes red"
            )
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
                return f"{tests} was reproduced, as requested: {context.reason}"
            tried = counted(context.candidates_tried, "candidate")
            return f"no fix for {tests} after {tried}: {context.reason}"
        case Outcome.BUDGET:
            tried = counted(context.candidates_tried, "candidate")
            return f"the budget ended before {tests} was fixed ({tried} tried)"
        case Outcome.STALE:
            return f"the branch moved during the mission on {tests}"
        case Outcome.DUPLICATE:
            return f"a fix for {tests} was open already"
        case Outcome.POLICY:
            return f"not allowed here: {context.reason}"
        case Outcome.CANCELLED:
            return f"the mission on {tests} was stopped on request"
        case Outcome.ERROR:
            return f"an internal error ended the mission on {tests}: {context.reason}"
        case _:
            assert_never(outcome)


def _only_looked(context: MissionContext) -> bool:
    """Return True if the mission was not asked for a fix."""
    return context.request.depth is not Depth.FIX


def _result(context: MissionContext, outcome: Outcome) -> Insight:
    success = outcome in {Outcome.FIXED, Outcome.PARTIAL}
    evidence = context.fix[1].reason if context.fix else context.reason
    return Insight(
        category="success" if success else "failure",
        description=_line(f"ended {outcome.value}: {context.reason}"),
        evidence=_line(evidence),
        impact="the same rung is tried first on a similar failure"
        if success
        else "known before the next try",
    )


def _cost(context: MissionContext) -> Insight:
    spent = f"{context.seconds:.1f} s, ${context.cost_usd:.4f}"
    candidates = counted(context.candidates_tried, "candidate")
    return Insight(
        category="efficiency",
        description=f"{candidates} in {counted(len(context.iterations), 'iteration')}, {spent}",
        evidence=f"mission {_line(context.mission_id)}",
    )


def _memory_insight(context: MissionContext, recalled: RecalledLesson) -> Insight:
    template = context.fix[0].template if context.fix else None
    helped = template is not None and template == recalled.lesson.template
    verb = "used" if helped else "did not use"
    return Insight(
        category="approach",
        description=_line(f"{verb} the lesson of mission {recalled.lesson.mission_id}"),
        evidence=_line(f"{recalled.reason}: {recalled.lesson.sentence}"),
        impact="memory led to the fix" if helped else "",
    )


def _improvements(context: MissionContext, outcome: Outcome) -> tuple[SuggestedImprovement, ...]:
    error = next((f.error for f in failures_of(context) if f.error), None) or "this error"
    if outcome is Outcome.NO_FIX and not _only_looked(context):
        text = f"a template (or a model) for {error}: none of the allowed rungs fits"
        return (_improvement("execution", text, "medium", f"failures with {error} get a fix"),)
    if outcome is Outcome.BUDGET:
        text = "raise the time limit, or narrow the suspects first"
        return (_improvement("planning", text, "medium", "the search ends before its limit"),)
    if outcome is Outcome.ENV_UNBUILDABLE:
        text = f"extend the recipe: {context.advice or context.reason}"
        return (_improvement("tool-usage", text, "high", "jobs of this kind can be reproduced"),)
    if outcome is Outcome.ERROR:
        text = f"investigate error {context.error_reference or 'without a reference'}"
        return (_improvement("execution", text, "high", "missions like this one can finish"),)
    if context.fix is not None and context.fix[0].behaviours > 1:
        text = f"a test that distinguishes the {context.fix[0].behaviours} passing behaviours"
        return (_improvement("reasoning", text, "medium", "the next fix here needs no question"),)
    return ()


def _improvement(
    area: Literal["planning", "execution", "tool-usage", "reasoning"],
    suggestion: str,
    priority: Literal["medium", "high"],
    impact: str,
) -> SuggestedImprovement:
    return SuggestedImprovement(
        area=area,
        suggestion=_line(suggestion),
        priority=priority,
        expected_impact=_line(impact),
    )


def _reliability(context: MissionContext, outcome: Outcome) -> float:
    """Return the reflection's reliability: high for measured outcomes, low for internal errors."""
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
    paths = [edit.path for edit in verification.edits] or [
        change.path for change in candidate.changes
    ]
    return tuple(dict.fromkeys(paths))[:NAMES_KEPT]


def _line(text: str) -> str:
    return " ".join(clean(text, cap=LINE_CHARS).split())
