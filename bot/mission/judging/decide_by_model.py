"""DECIDE by a model: it may be more cautious than the rules, never bolder."""

from bot.domain.decision import Action, Decision, NextAction, TaskSummary, WorkerCall
from bot.domain.mission import MissionContext
from bot.domain.model import Passage, Question
from bot.domain.plan import AcceptanceCriterion, CriterionType
from bot.llm import passages
from bot.llm.protocol.messages import CriterionUpdate, NextStep
from bot.mission.judging.criteria_by_model import denied_by
from bot.mission.judging.plan_by_model import with_more
from bot.mission.mind import useless
from bot.ports import Mind

_FILES = 5


async def decide_by_model(
    mind: Mind, rules: NextAction, context: MissionContext, *, retried: bool
) -> NextAction:
    """Return the next action that a model chooses.

    The model is not asked if the rules leave no choice: cancelled, complete, no budget, no worker,
    a person to ask or an answer of one. Its doubts only block what costs money; free rungs are
    tried before (`bot.mission.judging.alone`).

    Args:
        mind: The models.
        rules: The decision by rules.
        context: The latest iteration has diagnosis, plan and confidence.
        retried: The failure was already analyzed again.

    Raises:
        ModelError: there is no usable answer.
    """
    if (
        rules.decision.action is not Action.RUN_WORKER
        or rules.worker_call is None
        or context.request.answer
    ):
        return rules
    said, _ = await mind.ask(_question(rules, context), NextStep)
    action = said.decision.action
    # Only runs can call a mission complete, and a second analysis happens once.
    if action is Action.MARK_COMPLETE or (retried and action is Action.RETRY_WITH_CONTEXT):
        raise useless(f"{action.value} is not possible here")
    updates = said.updated_acceptance_criteria
    criteria = with_more(
        denied_by(context.acceptance_criteria, updates), tuple(map(_proposed, updates))
    )
    reason = passages.line(said.decision.reason, 500) or rules.decision.reason
    if action is not Action.RUN_WORKER:
        return NextAction(
            by="model",
            decision=Decision(action=action, reason=reason),
            updated_acceptance_criteria=criteria,
            wanted=passages.lines(said.context.files, _FILES)
            if action is Action.RETRY_WITH_CONTEXT
            else (),
        )
    brief = passages.paragraph(said.worker_call.prompt) if said.worker_call else ""
    return NextAction(
        by="model",
        decision=Decision(action=action, reason=reason),
        # Plan and policy choose the worker; only its instruction may come from the model.
        worker_call=WorkerCall(
            worker_type=rules.worker_call.worker_type, prompt=brief or rules.worker_call.prompt
        ),
        updated_acceptance_criteria=criteria,
    )


def _question(rules: NextAction, context: MissionContext) -> Question:
    iteration = context.current
    diagnosis, plan = (iteration.diagnosis, iteration.plan) if iteration else (None, None)
    confidence = iteration.confidence if iteration else None
    weighed = f"{confidence.overall:.2f}: {confidence.reasoning}" if confidence else "unknown"
    risks = "; ".join(confidence.risk_factors) if confidence else ""
    return Question(
        stage="decide",
        prompt="next_action",
        gaps={
            "diagnosis": () if diagnosis is None else passages.diagnosis(diagnosis),
            "plan": () if plan is None else passages.plan(plan),
            "attempts": passages.attempts(context),
            "confidence": Passage(
                label="confidence", text=f"{weighed}\nrisks: {risks or 'none'}", trusted=True
            ),
            "task": passages.task(summarize_task(context)),
            "iteration": f"{len(context.iterations)} of {context.budget.iterations}",
            "worker": rules.worker_call.worker_type if rules.worker_call else "",
        },
    )


def summarize_task(context: MissionContext) -> TaskSummary:
    """Return the mission as a task in one line.

    Args:
        context: The mission.
    """
    plan = context.current.plan if context.current else None
    name = " ".join(part for part in (plan.task_id, plan.goal) if part) if plan else ""
    return TaskSummary(
        title=name or context.test_command,
        state=context.state.value,
        acceptance_criteria=context.acceptance_criteria,
        worker_runs_count=sum(iteration.attempt is not None for iteration in context.iterations),
    )


def _proposed(said: CriterionUpdate) -> AcceptanceCriterion:
    """Return a criterion that a model proposes; runs alone decide the existing ones."""
    return AcceptanceCriterion(
        id=said.id,
        description=said.description,
        type=said.type or CriterionType.UNIT,
        critical=said.critical is True,
        denied=said.passed is False,
    )
