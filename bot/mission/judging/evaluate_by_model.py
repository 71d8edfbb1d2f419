"""META and the live assessment by a model: a second opinion on our own reasoning."""

from bot.domain.diagnosis import Diagnosis
from bot.domain.model import Question
from bot.domain.plan import Plan
from bot.domain.verdict import DEEPEN_BELOW, REPLAN_BELOW, Critique, LiveAssessment, MetaEvaluation
from bot.llm import passages
from bot.llm.protocol.messages import AssessLive, EvaluateReasoning
from bot.ports import Mind

_CONCERNS = 5
"""Maximum number of a model's concerns; each one reduces the confidence."""


async def evaluate_by_model(
    mind: Mind, rules: MetaEvaluation, diagnosis: Diagnosis, plan: Plan, *, critique: Critique
) -> MetaEvaluation:
    """Return a model's evaluation of the reasoning from failure to plan.

    Args:
        mind: The models.
        rules: The evaluation by rules; its concerns stay.
        diagnosis: The diagnosis.
        plan: The plan.
        critique: The critique of the plan.

    Raises:
        ModelError: there is no usable answer.
    """
    question = Question(
        stage="evaluate",
        prompt="evaluate_reasoning",
        gaps={
            "diagnosis": passages.diagnosis(diagnosis),
            "failures": passages.failures(diagnosis.failures),
            "plan": passages.plan(plan),
            "critique": passages.critique(critique),
        },
    )
    said, _ = await mind.ask(question, EvaluateReasoning)
    quality = rules.reasoning_quality if said.reasoning_quality is None else said.reasoning_quality
    sure = (
        rules.confidence_in_reasoning
        if said.confidence_in_reasoning is None
        else said.confidence_in_reasoning
    )
    return MetaEvaluation(
        by="model",
        reasoning_quality=quality,
        confidence_in_reasoning=sure,
        concerns=(*rules.concerns, *passages.lines(said.concerns, _CONCERNS)),
        should_replan=said.next == "replan" if said.next else quality < REPLAN_BELOW,
        should_think_deeper=said.next == "think_deeper" if said.next else quality < DEEPEN_BELOW,
        passes_recommended=said.passes_recommended or rules.passes_recommended,
        feedback=passages.paragraph(said.feedback) or rules.feedback,
    )


async def assess_by_model(
    mind: Mind, rules: LiveAssessment, diagnosis: Diagnosis
) -> LiveAssessment:
    """Return a model's assessment of a thought.

    Args:
        mind: The models.
        rules: The assessment by rules.
        diagnosis: The resulting diagnosis.

    Raises:
        ModelError: there is no usable answer.
    """
    question = Question(
        stage="live",
        prompt="assess_live",
        gaps={
            "failures": passages.failures(diagnosis.failures),
            "diagnosis": passages.diagnosis(diagnosis),
            "sources": passages.sources(diagnosis.contexts),
        },
    )
    said, _ = await mind.ask(question, AssessLive)
    moved = said.confidence_adjustment
    return LiveAssessment(
        by="model",
        should_continue=said.next != "stop",
        should_deepen=said.next == "deepen",
        confidence_adjustment=rules.confidence_adjustment if moved is None else moved,
        feedback=passages.paragraph(said.feedback, 1_000),
    )
