"""JUDGE by a model: analysis, plan and critique in one call, where the rules are unsure."""

from bot.domain.diagnosis import By, Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.model import Passage, Question
from bot.domain.plan import Plan
from bot.domain.verdict import Critique
from bot.llm import passages
from bot.llm.protocol.messages import CritiquePlan, JudgeFailure
from bot.mission.judging.analyze_by_model import apply_analysis
from bot.mission.judging.critique_by_model import apply_critique
from bot.ports import Mind, Workspace
from sandbox.types import Frozen, SourceDiff


class Judgement(Frozen):
    """Everything that is judged before a fix is looked for."""

    by: By = "rules"
    diagnosis: Diagnosis
    plan: Plan
    critique: Critique


async def judge_by_model(
    mind: Mind, rules: Judgement, context: MissionContext, workspace: Workspace, *, doubt: str
) -> Judgement:
    """Return a model's judgement of a failure. Steps and criteria of the rules' plan stay.

    Args:
        mind: The models.
        rules: The judgement by rules.
        context: The mission.
        workspace: Workspace with the failing tree.
        doubt: Why the rules are unsure.

    Raises:
        ModelError: there is no usable answer.
    """
    diagnosis, plan = rules.diagnosis, rules.plan
    facts = context.facts
    question = Question(
        stage="judge",
        prompt="judge_failure",
        gaps={
            "failures": passages.failures(diagnosis.failures),
            "sources": passages.sources(diagnosis.contexts),
            "red_diff": passages.red_diff(facts.red_diff if facts else SourceDiff()),
            "known": passages.diagnosis(diagnosis),
            "plan": passages.plan(plan),
            "person": passages.person(context),
            "lessons": passages.lessons(context),
            "attempts": passages.attempts(context),
            "doubt": Passage(label="why the rules are unsure", text=doubt, trusted=True),
        },
    )
    said, _ = await mind.ask(question, JudgeFailure)
    critique = rules.critique
    if said.overall is not None or said.recommendation is not None:
        spoken = CritiquePlan(
            overall=said.overall,
            issues=said.issues,
            recommendation=said.recommendation,
            rationale=said.rationale,
        )
        critique = apply_critique(critique, spoken, plan)
    return Judgement(
        by="model",
        diagnosis=await apply_analysis(diagnosis, said, workspace),
        plan=plan.with_(
            by="model",
            goal=passages.line(said.goal) or plan.goal,
            confidence=plan.confidence if said.plan_confidence is None else said.plan_confidence,
        ),
        critique=critique,
    )
