"""Decide by rules alone, so that a model's doubts never block what is free and proved by runs."""

from collections.abc import Callable, Collection

from bot.domain.decision import Action, Decision, NextAction
from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Rung
from bot.domain.plan import Plan
from bot.domain.verdict import ConfidenceAssessment, Critique, Route
from bot.mission.judging.confidence import assess_confidence
from bot.mission.judging.critique import critique_plan
from bot.mission.judging.decide import decide_next_action
from bot.mission.judging.evaluate import evaluate_reasoning
from bot.mission.judging.plan import plan_fix, refine_plan
from sandbox.types import TestReport

FREE = frozenset({Rung.TOOLS, Rung.SEARCH})
"""Rungs that ask no model; runs of the tests confirm their candidates."""


def decide_alone(  # noqa: PLR0917 - all that a decision rests on
    context: MissionContext,
    diagnosis: Diagnosis,
    report: TestReport,
    rungs: Collection[Rung],
    is_protected: Callable[[str], bool],
    *,
    retried: bool,
) -> NextAction:
    """Return the decision of a mission without any model, over the rungs that ask none.

    Args:
        context: The mission.
        diagnosis: The diagnosis by rules alone.
        report: The red run.
        rungs: Rungs that are allowed here.
        is_protected: Returns True for a path that must not be edited.
        retried: The failure was already analyzed again.
    """
    free = FREE.intersection(rungs)
    if context.facts is None or context.current is None:
        return decide_next_action(context, retried=retried)
    plan = plan_fix(diagnosis, report, context.facts, free)
    critique, confidence = _weighed(diagnosis, plan, is_protected)
    if confidence.action is Route.REPLAN:
        plan = refine_plan(plan, critique, free)
        _, confidence = _weighed(diagnosis, plan, is_protected)
    now = context.current.with_(diagnosis=diagnosis, plan=plan, confidence=confidence)
    return decide_next_action(
        context.with_(iterations=(*context.iterations[:-1], now)), retried=retried
    )


def _weighed(
    diagnosis: Diagnosis, plan: Plan, is_protected: Callable[[str], bool]
) -> tuple[Critique, ConfidenceAssessment]:
    critique = critique_plan(plan, is_protected=is_protected)
    meta = evaluate_reasoning(diagnosis, plan, critique)
    return critique, assess_confidence(diagnosis.confidence, plan.confidence, critique, meta)


def free_first(decided: NextAction, alone: NextAction) -> NextAction:
    """Return the decision; it allows at least what the rules alone allow.

    Args:
        decided: The decision with the model's judgements.
        alone: The decision by rules alone.
    """
    action = alone.decision.action
    # A model may not turn work or a second analysis into a question or an end.
    if decided.decision.action is Action.RUN_WORKER or action not in {
        Action.RUN_WORKER,
        Action.RETRY_WITH_CONTEXT,
    }:
        return decided
    if action is decided.decision.action:
        return decided
    why = f"{decided.decision.action.value}: {decided.decision.reason}"
    return decided.with_(
        decision=Decision(
            action=action, reason=f"without a model: {alone.decision.reason}; held back: {why}"
        ),
        worker_call=alone.worker_call,
        wanted=decided.wanted if action is Action.RETRY_WITH_CONTEXT else (),
        held=decided.decision.reason,
    )
