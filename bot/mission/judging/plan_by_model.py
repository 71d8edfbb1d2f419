"""PLAN by a model: goal and steps. The rules' criteria stay; a model may only add to them."""

import itertools
from collections.abc import Collection, Sequence

from bot.domain.mission import MissionContext
from bot.domain.model import Passage, Question
from bot.domain.patch import Rung
from bot.domain.plan import AcceptanceCriterion, Plan, PlanStep
from bot.domain.verdict import Critique
from bot.llm import passages
from bot.llm.protocol.messages import PlanTask
from bot.mission.mind import useless
from bot.ports import Mind

# Limits on a model's answer: it is stored, shown, and asked about again.
_STEPS = 20
_MORE_CRITERIA = 10
_VERIFY = "verify"
_ID_CHARS = 20


async def plan_by_model(
    mind: Mind, rules: Plan, context: MissionContext, rungs: Collection[Rung]
) -> Plan:
    """Return a model's plan.

    Args:
        mind: The models.
        rules: The plan by rules; its criteria decide.
        context: The mission, with its diagnosis.
        rungs: Rungs that are allowed here.

    Raises:
        ModelError: there is no usable answer.
    """
    return await _planned(mind, rules, context, rungs, stage="plan")


async def refine_by_model(
    mind: Mind,
    rules: Plan,
    context: MissionContext,
    rungs: Collection[Rung],
    *,
    criticised: tuple[Plan, Critique],
) -> Plan:
    """Return a model's plan after a critique.

    Args:
        mind: The models.
        rules: The plan as refined by rules.
        context: The mission.
        rungs: Rungs that are allowed here.
        criticised: The plan before, with its critique.

    Raises:
        ModelError: there is no usable answer.
    """
    refined = await _planned(mind, rules, context, rungs, stage="replan", criticised=criticised)
    return refined.with_(refined=True)


async def _planned(
    mind: Mind,
    rules: Plan,
    context: MissionContext,
    rungs: Collection[Rung],
    *,
    stage: str,
    criticised: tuple[Plan, Critique] | None = None,
) -> Plan:
    diagnosis = context.diagnosis
    question = Question(
        stage=stage,
        prompt="plan_task",
        gaps={
            "command": Passage(label="red command", text=context.test_command),
            "diagnosis": () if diagnosis is None else passages.diagnosis(diagnosis),
            "sources": () if diagnosis is None else passages.sources(diagnosis.contexts),
            "workers": passages.workers(rungs),
            "criteria": passages.criteria(rules.acceptance_criteria),
            "lessons": passages.lessons(context),
            "attempts": passages.attempts(context),
            "criticised": ()
            if criticised is None
            else (passages.plan(criticised[0]), passages.critique(criticised[1])),
        },
    )
    said, _ = await mind.ask(question, PlanTask)
    steps = _steps(said.steps) or rules.steps
    # A plan without a usable worker would end the mission; the rules' plan is better.
    usable = {passages.WORKER_OF[rung] for rung in rungs}
    if not any(step.action in usable for step in steps):
        raise useless("no step of the plan names a worker that may work here")
    return rules.with_(
        by="model",
        task_id=passages.line(said.task_id, 80),
        goal=passages.line(said.goal) or rules.goal,
        steps=steps,
        confidence=rules.confidence if said.confidence is None else said.confidence,
        acceptance_criteria=with_more(rules.acceptance_criteria, said.acceptance_criteria),
    )


def with_more(
    known: tuple[AcceptanceCriterion, ...], proposed: Sequence[AcceptanceCriterion]
) -> tuple[AcceptanceCriterion, ...]:
    """Return the known criteria and a model's additional ones, undecided.

    Args:
        known: Criteria that runs decide; unchanged.
        proposed: Those with a new description are added. No run decides them; a denied critical one
            prevents FIXED.
    """
    said = {criterion.description for criterion in known}
    # The limit covers all iterations, not each answer.
    added = sum(criterion.check is None for criterion in known)
    more: list[AcceptanceCriterion] = []
    for criterion in proposed:
        description = passages.line(criterion.description)
        if description and description not in said and added + len(more) < _MORE_CRITERIA:
            said.add(description)
            more.append(
                AcceptanceCriterion(
                    id=_own_id(criterion.id, {one.id for one in (*known, *more)}),
                    description=description,
                    type=criterion.type,
                    critical=criterion.critical,
                    denied=criterion.denied,
                )
            )
    return (*known, *more)


def _own_id(said: str, taken: Collection[str]) -> str:
    """Return the id that the model gave, or another one if it is in use."""
    wanted = passages.line(said, _ID_CHARS)
    free = (f"AC-{number}" for number in itertools.count(len(taken) + 1))
    return (
        wanted
        if wanted and wanted not in taken
        else next(name for name in free if name not in taken)
    )


def _steps(said: tuple[PlanStep, ...]) -> tuple[PlanStep, ...]:
    """Return a model's steps, bounded, with the verification at the end; the critic judges them."""
    steps = [
        PlanStep(
            id=passages.line(step.id, 20),
            order=number,
            description=passages.line(step.description),
            action=passages.line(step.action, 40),
            parameters={
                passages.line(k, 40): passages.paragraph(v, 500)
                for k, v in list(step.parameters.items())[:10]
            },
            expected_outcome=passages.line(step.expected_outcome),
            dependencies=passages.lines(step.dependencies, _STEPS, 20),
        )
        for number, step in enumerate(sorted(said, key=lambda step: step.order)[:_STEPS], start=1)
    ]
    if steps and steps[-1].action != _VERIFY:
        last = len(steps) + 1
        steps.append(
            PlanStep(
                id=f"S-{last}",
                order=last,
                description="verify the candidate in a fresh workspace",
                action=_VERIFY,
                expected_outcome="every acceptance criterion is met",
                dependencies=tuple(step.id for step in steps),
            )
        )
    return tuple(steps)
