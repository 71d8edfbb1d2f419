"""META: question our own reasoning; proceed, think deeper, or plan again."""

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
"""Score of a suspect that raises the confidence."""
_UNSURE = 0.5
"""Difference between the confidences of diagnosis and plan that is a concern."""
_DIGITS = 9


def quick_confidence(thought: float, plan: float, critique: float | None = None) -> float:
    """Return the mean of thought and plan; with a critique, the mean of that and its score.

    Args:
        thought: Confidence in the diagnosis.
        plan: Confidence in the plan.
        critique: Score of the critique; None without one. 0.0 is a score.
    """
    mean = (thought + plan) / 2
    return round(mean if critique is None else (mean + critique) / 2, _DIGITS)


def may_proceed(confidence: float) -> bool:
    """Return True if a quick confidence suffices to proceed."""
    return confidence >= PROCEED_FROM


def adjusted(confidence: float, assessment: LiveAssessment) -> float:
    """Return a confidence moved by a fifth of a live assessment's adjustment, within 0 and 1."""
    return round(
        min(1.0, max(0.0, confidence + LIVE_ADJUSTMENT_WEIGHT * assessment.confidence_adjustment)),
        _DIGITS,
    )


def evaluate_reasoning(
    diagnosis: Diagnosis, plan: Plan, critique: Critique | None
) -> MetaEvaluation:
    """Evaluate the reasoning from failure to plan.

    Args:
        diagnosis: The diagnosis.
        plan: The plan.
        critique: The critique of the plan.
    """
    quality = quick_confidence(
        diagnosis.confidence, plan.confidence, None if critique is None else critique.overall
    )
    concerns = _concerns(diagnosis, plan, critique)
    return MetaEvaluation(
        reasoning_quality=quality,
        confidence_in_reasoning=quality,
        concerns=concerns,
        should_replan=quality < REPLAN_BELOW,
        should_think_deeper=quality < DEEPEN_BELOW,
        passes_recommended=1 if quality >= DEEPEN_BELOW else 2 if quality >= REPLAN_BELOW else 3,
        feedback="; ".join(concerns)
        or ("go on" if may_proceed(quality) else "not sure enough to go on"),
    )


def _concerns(diagnosis: Diagnosis, plan: Plan, critique: Critique | None) -> tuple[str, ...]:
    """Return the concerns about the reasoning."""
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
    """Assess one thought by its suspects: proceed, deepen or stop.

    A confident thought, or one without more to read, ends the thinking.

    Args:
        thought: The thought.
        diagnosis: The resulting diagnosis.
    """
    located = bool(diagnosis.suspects)
    deepen = not located or thought.confidence < DEEPEN_BELOW
    best = max((s.score for s in diagnosis.suspects), default=0.0)
    # A fifth of this moves the confidence: at most 0.05 up and 0.1 down.
    adjustment = 0.25 if best >= _SURE else 0.0 if located else -0.5
    return LiveAssessment(
        should_continue=deepen and bool(diagnosis.failures),
        should_deepen=deepen,
        confidence_adjustment=adjustment,
        feedback=""
        if located
        else "look beyond the traceback: what the test calls, and what the commit changed",
    )
