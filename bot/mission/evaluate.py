"""META: question our own reasoning; go on, think deeper, or plan again."""

from bot.domain.diagnosis import Diagnosis
from bot.domain.plan import Plan
from bot.domain.verdict import (
    DEEPEN_BELOW,
    LIVE_ADJUSTMENT_WEIGHT,
    PROCEED_FROM,
    REPLAN_BELOW,
    Critique,
    LiveAssessment,
    MetaEvaluation,
    Recommendation,
    Thought,
)

_SURE = 0.8
_UNSURE = 0.5
_DIGITS = 9


def quick_confidence(thought: float, plan: float, critique: float | None = None) -> float:
    """The mean of thought and plan; with a critique, the mean of that and the critique.

    Args:
        thought: How sure the diagnosis is.
        plan: How sure the plan is.
        critique: None when nobody criticised; 0.0 is a score.
    """
    mean = (thought + plan) / 2
    return round(mean if critique is None else (mean + critique) / 2, _DIGITS)


def may_proceed(confidence: float) -> bool:
    """Whether a quick confidence is enough to go on."""
    return confidence >= PROCEED_FROM


def adjusted(confidence: float, assessment: LiveAssessment) -> float:
    """A confidence after a live assessment: moved by a fifth of the adjustment, between 0 and 1."""
    return round(min(1.0, max(0.0, confidence + LIVE_ADJUSTMENT_WEIGHT * assessment.confidence_adjustment)), _DIGITS)


def evaluate_reasoning(diagnosis: Diagnosis, plan: Plan, critique: Critique | None) -> MetaEvaluation:
    """Question the way from failure to plan.

    Args:
        diagnosis: What we think is broken.
        plan: What we intend to do.
        critique: What the critic said.
    """
    return _evaluate_by_rules(diagnosis, plan, critique)


def _evaluate_by_rules(diagnosis: Diagnosis, plan: Plan, critique: Critique | None) -> MetaEvaluation:
    """The quick confidence check, and the doubts that can be read off the values."""
    quality = quick_confidence(diagnosis.confidence, plan.confidence, None if critique is None else critique.overall)
    concerns = _concerns(diagnosis, plan, critique)
    return MetaEvaluation(
        reasoning_quality=quality,
        confidence_in_reasoning=quality,
        concerns=concerns,
        should_replan=quality < REPLAN_BELOW,
        should_think_deeper=quality < DEEPEN_BELOW,
        passes_recommended=1 if quality >= DEEPEN_BELOW else 2 if quality >= REPLAN_BELOW else 3,
        feedback="; ".join(concerns) or ("go on" if may_proceed(quality) else "not sure enough to go on"),
    )


def _concerns(diagnosis: Diagnosis, plan: Plan, critique: Critique | None) -> tuple[str, ...]:
    """Doubts about the reasoning."""
    doubts = (
        (not diagnosis.suspects, "no line of the source is under suspicion"),
        (not diagnosis.failures, "no failing test is known by name"),
        (not plan.acceptance_criteria, "nothing says when the plan has succeeded"),
        (
            critique is not None and critique.recommendation is Recommendation.REJECT,
            "the critic rejects the plan",
        ),
        (
            abs(diagnosis.confidence - plan.confidence) > _UNSURE,
            "the plan is far more (or less) sure of itself than the diagnosis it rests on",
        ),
    )
    return tuple(words for applies, words in doubts if applies)


def assess_live(thought: Thought, diagnosis: Diagnosis) -> LiveAssessment:
    """Judge a thought just after it was thought: go on, deepen or stop.

    Args:
        thought: The reasoning so far.
        diagnosis: What it led to.
    """
    return _assess_by_rules(thought, diagnosis)


def _assess_by_rules(thought: Thought, diagnosis: Diagnosis) -> LiveAssessment:
    """Suspects make sure, their absence makes unsure; a thought that is sure or has nothing to deepen ends it."""
    located = bool(diagnosis.suspects)
    deepen = not located or thought.confidence < DEEPEN_BELOW
    best = max((s.score for s in diagnosis.suspects), default=0.0)
    adjustment = 0.25 if best >= _SURE else 0.0 if located else -0.5
    return LiveAssessment(
        should_continue=deepen and bool(diagnosis.failures),
        should_deepen=deepen,
        confidence_adjustment=adjustment,
        feedback="" if located else "look beyond the traceback: what the test calls, and what the commit changed",
    )
