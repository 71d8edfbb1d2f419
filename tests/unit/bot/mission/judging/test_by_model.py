"""Whatever a model says, a stage's value is bounded, clean and within what the rules leave open, or there is none."""

import asyncio
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.decision import Action, WorkerCall
from bot.domain.mission import Iteration, MissionContext
from bot.domain.model_error import ModelError
from bot.domain.patch import Rung
from bot.domain.verdict import IssueCategory, Recommendation, Severity
from bot.llm.protocol.messages import CritiquePlan, EvaluateReasoning, NextStep, PlanTask
from bot.mission.judging.critique import critique_plan, recommend
from bot.mission.judging.critique_by_model import critique_by_model
from bot.mission.judging.decide import decide_next_action
from bot.mission.judging.decide_by_model import decide_by_model
from bot.mission.judging.evaluate import evaluate_reasoning
from bot.mission.judging.evaluate_by_model import evaluate_by_model
from bot.mission.judging.plan_by_model import plan_by_model
from tests.builders import a_confidence, a_critique, a_diagnosis, a_plan, a_running_mission
from tests.fakes.scripted_mind import ScriptedMind

EXAMPLES = settings(max_examples=40, deadline=None)
HOSTILE = "@everyone \u202e<!-- x -->\x1b[2J ../../etc `rm -rf`"
texts = st.sampled_from(["", "x", HOSTILE, "AC-1", "S-1", "search", "verify", "shell", "z" * 5_000])
scores = st.none() | st.floats(allow_nan=True) | st.sampled_from(["0.0", "150%", "unknown", -3, 7])
steps = st.fixed_dictionaries(
    {"id": texts, "order": st.integers(-5, 50), "description": texts, "action": texts},
    optional={
        "parameters": st.dictionaries(texts, texts, max_size=3),
        "dependencies": st.lists(texts, max_size=3),
    },
)
criteria = st.fixed_dictionaries(
    {"id": texts.filter(bool), "description": texts},
    optional={
        "type": st.sampled_from(["unit", "mock"]),
        "critical": st.booleans(),
        "passed": st.booleans(),
    },
)
issues = st.fixed_dictionaries(
    {
        "severity": st.sampled_from(list(Severity)),
        "category": st.sampled_from(list(IssueCategory)),
        "description": texts,
        "affected_steps": st.lists(texts, max_size=4),
    }
)


def answered(prompt: str, message: type[Any], fields: dict[str, Any]) -> ScriptedMind | None:
    """A mind that says so, if that is a message at all."""
    try:
        return ScriptedMind({prompt: message.model_validate(fields)})
    except ValueError:
        return None


def bounded(text: str) -> bool:
    return len(text) < 2_100 and not {"\x1b", "\u202e"} & set(text)


@EXAMPLES
@given(
    goal=texts,
    confidence=scores,
    said=st.lists(steps, max_size=40),
    more=st.lists(criteria, max_size=40),
)
def test_a_plan_keeps_the_rules_criteria_and_ends_with_the_verification(
    goal: str, confidence: Any, said: list[Any], more: list[Any]
) -> None:
    fields = {"goal": goal, "confidence": confidence, "steps": said, "acceptance_criteria": more}
    mind, rules = answered("plan_task", PlanTask, fields), a_plan()
    if mind is None:
        return
    try:
        plan = asyncio.run(plan_by_model(mind, rules, a_running_mission(), {Rung.SEARCH}))
    except ModelError:
        return
    known = len(rules.acceptance_criteria)
    assert plan.acceptance_criteria[:known] == rules.acceptance_criteria
    assert not any(c.passed or c.check for c in plan.acceptance_criteria[known:])
    assert (
        len({c.id for c in plan.acceptance_criteria}) == len(plan.acceptance_criteria) <= known + 10
    )
    assert plan.steps[-1].action == "verify"
    assert any(step.action == "search" for step in plan.steps)
    assert len(plan.steps) <= 21
    assert bounded(plan.goal)
    assert all(bounded(step.description) and bounded(step.action) for step in plan.steps)
    assert 0.0 <= plan.confidence <= 1.0


@EXAMPLES
@given(
    overall=scores,
    safety=scores,
    found=st.lists(issues, max_size=30),
    said=st.sampled_from([None, *Recommendation]),
)
def test_a_critique_keeps_the_rules_issues_and_the_more_careful_word(
    overall: Any, safety: Any, found: list[Any], said: Recommendation | None
) -> None:
    fields = {"overall": overall, "safety": safety, "issues": found, "recommendation": said}
    mind = answered("critique_plan", CritiquePlan, fields)
    plan = a_plan(steps=(a_plan().steps[0].with_(action="nobody"), *a_plan().steps))
    rules = critique_plan(plan)
    if mind is None:
        return
    critique = asyncio.run(critique_by_model(mind, rules, plan, a_diagnosis()))
    assert critique.issues[: len(rules.issues)] == rules.issues
    assert len(critique.issues) <= len(rules.issues) + 10
    assert critique.overall <= rules.overall
    order = list(Recommendation)
    assert order.index(critique.recommendation) >= order.index(recommend(critique.overall))
    assert all(
        set(issue.affected_steps) <= {step.id for step in plan.steps} for issue in critique.issues
    )


@EXAMPLES
@given(
    quality=scores,
    chosen=st.sampled_from([None, "proceed", "think_deeper", "replan"]),
    concerns=st.lists(texts, max_size=30),
)
def test_an_evaluation_keeps_the_rules_concerns_and_adds_five_at_most(
    quality: Any, concerns: list[str], chosen: str | None
) -> None:
    fields = {"reasoning_quality": quality, "next": chosen, "concerns": concerns}
    mind = answered("evaluate_reasoning", EvaluateReasoning, fields)
    diagnosis, plan, critique = a_diagnosis(suspects=()), a_plan(), a_critique()
    rules = evaluate_reasoning(diagnosis, plan, critique)
    if mind is None:
        return
    meta = asyncio.run(evaluate_by_model(mind, rules, diagnosis, plan, critique=critique))
    assert rules.concerns
    assert meta.concerns[: len(rules.concerns)] == rules.concerns
    assert len(meta.concerns) <= len(rules.concerns) + 5
    assert all(map(bounded, meta.concerns))


@EXAMPLES
@given(
    action=st.sampled_from(list(Action)),
    worker=st.sampled_from([None, *get_args(WorkerCall.model_fields["worker_type"].annotation)]),
    reason=texts,
    updated=st.lists(criteria, max_size=30),
    retried=st.booleans(),
)
def test_a_decision_completes_nothing_and_runs_the_worker_that_the_plan_names(
    action: Action, worker: str | None, reason: str, updated: list[Any], *, retried: bool
) -> None:
    call = {"worker_type": worker, "prompt": reason} if worker else None
    fields = {
        "decision": {"action": action, "reason": reason},
        "worker_call": call,
        "updated_acceptance_criteria": updated,
    }
    mind = answered("next_action", NextStep, fields)
    context = _deciding()
    rules = decide_next_action(context, retried=retried)
    assert rules.worker_call is not None
    if mind is None:
        return
    try:
        said = asyncio.run(decide_by_model(mind, rules, context, retried=retried))
    except ModelError:
        return
    assert said.decision.action is not Action.MARK_COMPLETE
    assert not (retried and said.decision.action is Action.RETRY_WITH_CONTEXT)
    known = len(context.acceptance_criteria)
    assert said.updated_acceptance_criteria[:known] == context.acceptance_criteria
    assert not any(c.passed or c.check for c in said.updated_acceptance_criteria[known:])
    if said.worker_call is not None:
        assert said.worker_call.worker_type == rules.worker_call.worker_type
        assert bounded(said.worker_call.prompt)
    assert bounded(said.decision.reason)


def _deciding() -> MissionContext:
    """A mission that stands before its first decision."""
    plan = a_plan()
    iteration = Iteration(number=1, diagnosis=a_diagnosis(), plan=plan, confidence=a_confidence())
    return a_running_mission(iterations=(iteration,), acceptance_criteria=plan.acceptance_criteria)
