"""CRITIC by a model: its scores and issues, on top of what the rules found; the more careful word wins."""

from bot.domain.diagnosis import Diagnosis
from bot.domain.model import Question
from bot.domain.plan import Plan
from bot.domain.verdict import Critique, CritiqueIssue, Recommendation
from bot.llm import passages
from bot.llm.protocol.messages import CritiquePlan
from bot.mission.critique import recommend
from bot.ports import Mind

_ISSUES = 10
_CAREFUL = (Recommendation.APPROVE, Recommendation.REVISE, Recommendation.REJECT)


async def critique_by_model(mind: Mind, rules: Critique, plan: Plan, diagnosis: Diagnosis) -> Critique:
    """What a model thinks of a plan.

    Args:
        mind: The models.
        rules: What quick validation found; all of it stays.
        plan: What we intend to do.
        diagnosis: What it rests on.

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

    def score(model: float | None, ours: float) -> float:
        """Unknown leaves our own; with issues found by the rules nothing is better than they say."""
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
        recommendation=max(recommended, key=_CAREFUL.index),
        rationale=passages.paragraph(said.rationale) or rules.rationale,
    )


def _issue(said: CritiqueIssue, steps: set[str]) -> CritiqueIssue:
    """A model's issue, clean, about steps that exist."""
    return CritiqueIssue(
        severity=said.severity,
        category=said.category,
        description=passages.line(said.description),
        suggestion=passages.line(said.suggestion),
        affected_steps=tuple(step for step in said.affected_steps if step in steps),
    )
