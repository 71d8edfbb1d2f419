"""DECIDE: the next action, from confidence, state and budget."""

from typing import Literal

from bot.domain.decision import Action, Decision, NextAction, WorkerCall
from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext, MissionState
from bot.domain.plan import Plan
from bot.domain.verdict import ConfidenceAssessment, Route
from bot.mission.judging.criteria import all_critical_passed

WorkerType = Literal["tools", "search", "model", "codex-cli", "claude-cli"]

_WORKERS: dict[str, WorkerType] = {
    "tools": "tools",
    "search": "search",
    "model": "model",
    "codex-cli": "codex-cli",
    "claude-cli": "claude-cli",
}


def decide_next_action(context: MissionContext, *, retried: bool = False) -> NextAction:
    """Return the next action.

    Args:
        context: State, budget and criteria; the latest iteration has plan and confidence.
        retried: The failure was already analyzed again with more context.
    """
    action, reason = _decide_by_rules(context, retried=retried)
    iteration = context.current
    worker = _worker(iteration.plan if iteration else None) if action is Action.RUN_WORKER else None
    title = iteration.diagnosis.title if iteration and iteration.diagnosis else ""
    return NextAction(
        decision=Decision(action=action, reason=reason),
        worker_call=WorkerCall(worker_type=worker, prompt=title) if worker else None,
        updated_acceptance_criteria=context.acceptance_criteria,
    )


def _decide_by_rules(context: MissionContext, *, retried: bool) -> tuple[Action, str]:
    """Return the first decision of the table that applies."""
    plan = context.current.plan if context.current else None
    confidence = context.current.confidence if context.current else None
    if context.state is MissionState.CANCELLED:
        return Action.ABORT, "the mission was cancelled"
    # The order matters: success counts even if the last iteration spent the budget.
    if all_critical_passed(context.acceptance_criteria):
        return Action.MARK_COMPLETE, "every critical acceptance criterion is met"
    if not context.budget.allows_another_iteration:
        return Action.ABORT, "the budget is spent"
    if _worker(plan) is None:
        return Action.ABORT, _unfixable(context)
    if confidence is None:
        return Action.ABORT, "there is no confidence"
    action, reason = _by_route(confidence, retried=retried)
    if action is Action.ASK_HUMAN and context.request.answer is not None:
        return Action.RUN_WORKER, f"{reason}; a person answered: go on"
    return action, reason


def _unfixable(context: MissionContext) -> str:
    """Return why no fixer can begin."""
    report = context.test_results
    if report is not None and report.knows_tests and not report.traits.searched_by:
        return "the search repairs Python only, and no model is configured or allowed here"
    return "no rung of the ladder applies to this failure"


def _by_route(confidence: ConfidenceAssessment, *, retried: bool) -> tuple[Action, str]:
    """Return the decision of a route."""
    overall = f"confidence {confidence.overall:.2f}"
    match confidence.action:
        case Route.EXECUTE:
            return Action.RUN_WORKER, f"{overall}: execute"
        case Route.EXECUTE_WITH_CAUTION:
            return Action.RUN_WORKER, f"{overall}: execute with caution"
        case Route.CLARIFY:
            return Action.ASK_HUMAN, f"{overall}: not sure enough without an answer"
        case Route.REPLAN if not retried:
            return Action.RETRY_WITH_CONTEXT, f"{overall}: look again with more context"
        case Route.REPLAN:
            return Action.ASK_HUMAN, f"{overall}: another look did not help"
        case Route.ESCALATE:
            return Action.ASK_HUMAN, f"{overall}: too little is known to act"


def _worker(plan: Plan | None) -> WorkerType | None:
    """Return the first worker that the plan names."""
    steps = sorted(plan.steps, key=lambda step: step.order) if plan else []
    return next((_WORKERS[step.action] for step in steps if step.action in _WORKERS), None)


def question_for(diagnosis: Diagnosis) -> str:
    """Return one clear question to a person about a failure that is not understood.

    Args:
        diagnosis: The diagnosis so far.
    """
    first = diagnosis.failures[0] if diagnosis.failures else None
    if first is None:
        return "Which test shows the failure? Nothing that failed could be named."
    if not diagnosis.suspects:
        return (
            f"Which file holds the behaviour that `{first.name}` tests? No line of the source "
            "could be suspected."
        )
    best = diagnosis.suspects[0]
    return (
        f"Is `{first.name}` right to expect what it expects? It points at {best.file} line "
        f"{best.line}, "
        "but too little is known to change that line without an answer."
    )
