"""CRITIC by a model: scores and issues on top of the rules'; the more cautious judgement counts."""

from bot.domain.diagnosis import Diagnosis
from bot.domain.model import Question
from bot.domain.plan import Plan
from bot.domain.verdict import Critique, CritiqueIssue, Recommendation
from bot.llm import passages
from bot.llm.protocol.messages import CritiquePlan
from bot.mission.judging.critique import recommend
from bot.ports import Mind

_ISSUES = 10
_CAREFUL = (Recommendation.APPROVE, Recommendation.REVISE, Recommendation.REJECT)


async def critique_by_model(
    mind: Mind, rules: Critique, plan: Plan, diagnosis: Diagnosis
) -> Critique:
    """Return a model's critique of a plan, together with the rules' issues.

    Args:
        mind: The models.
        rules: The critique by rules; all its issues stay.
        plan: The plan.
        diagnosis: The diagnosis behind the plan.

    Raises:
        ModelError: there is no usable answer.
    """
    question = Question(
        stage="critique",
        prompt="critique_plan",
        gaps={
            "plan": passages.plan(plan),
            "criteria": passages.criteria(plan.acceptance_criteria),
            "diagnosis": passages.diagnosis(diagnosis),
            "sources": passages.sources(diagnosis.contexts),
        },
    )
    said, _ = await mind.ask(question, CritiquePlan)
    return apply_critique(rules, said, plan)


def apply_critique(rules: Critique, said: CritiquePlan, plan: Plan) -> Critique:
    """Return a model's critique together with the rules' issues.

    Args:
        rules: The critique by rules; all its issues stay.
        said: The model's critique.
        plan: The plan.
    """

    def score(model: float | None, ours: float) -> float:
        """Return the model's score, or the rules' if it gave none; issues of the rules cap it."""
        if model is None:
            return ours
        return min(model, ours) if rules.issues else model

    overall = score(said.overall, rules.overall)
    recommended = (recommend(overall), said.recommendation or Recommendation.APPROVE)
    steps = {step.id for step in plan.steps}
    return rules.with_(
        by="model",
        overall=overall,
        feasibility=score(said.feasibility, rules.feasibility),
        correctness=score(said.correctness, rules.correctness),
        efficiency=score(said.efficiency, rules.efficiency),
        safety=score(said.safety, rules.safety),
        issues=(*rules.issues, *(_issue(issue, steps) for issue in said.issues[:_ISSUES])),
        strengths=passages.lines((*rules.strengths, *said.strengths), _ISSUES),
        suggestions=passages.lines((*rules.suggestions, *said.suggestions), _ISSUES),
        # The more cautious of both: `_CAREFUL` is in ascending order.
        recommendation=max(recommended, key=_CAREFUL.index),
        rationale=passages.paragraph(said.rationale) or rules.rationale,
    )


def _issue(said: CritiqueIssue, steps: set[str]) -> CritiqueIssue:
    """Return a model's issue, sanitized and reduced to existing steps."""
    return CritiqueIssue(
        severity=said.severity,
        category=said.category,
        description=passages.line(said.description),
        suggestion=passages.line(said.suggestion),
        affected_steps=tuple(step for step in said.affected_steps if step in steps),
    )
