"""Judgements before anything is executed: Critique, MetaEvaluation, LiveAssessment, ConfidenceAssessment.

The numbers are those of the mission's specification; they route, they never call anything fixed.
"""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from bot.domain.diagnosis import By
from sandbox.types import Frozen

APPROVE_FROM = 0.8
REVISE_FROM = 0.6
REPLAN_BELOW = 0.6
DEEPEN_BELOW = 0.7
PROCEED_FROM = 0.6
CRITICAL_PENALTY = 0.2
CONCERN_PENALTY = 0.05
LIVE_ADJUSTMENT_WEIGHT = 0.2
MAX_THOUGHT_PASSES = 3

Score = Field(ge=0.0, le=1.0)


class Severity(StrEnum):
    """How much an issue weighs."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class IssueCategory(StrEnum):
    """What an issue is about."""

    LOGIC = "logic"
    FEASIBILITY = "feasibility"
    EFFICIENCY = "efficiency"
    SAFETY = "safety"
    COMPLETENESS = "completeness"


class CritiqueIssue(Frozen):
    """One thing that is wrong with a plan."""

    severity: Severity
    category: IssueCategory
    description: str
    suggestion: str = ""
    affected_steps: tuple[str, ...] = ()


class Recommendation(StrEnum):
    """What the critic says to do."""

    APPROVE = "approve"
    REVISE = "revise"
    REJECT = "reject"


class Critique(Frozen):
    """The plan, scored before acting on it."""

    by: By = "rules"
    overall: float = Score
    feasibility: float = Score
    correctness: float = Score
    efficiency: float = Score
    safety: float = Score
    issues: tuple[CritiqueIssue, ...] = ()
    strengths: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    recommendation: Recommendation
    rationale: str = ""


class Thought(Frozen):
    """Reasoning about the failure, and how sure it is."""

    reasoning: str
    confidence: float = Score


class LiveAssessment(Frozen):
    """A judgement made after a thought."""

    by: By = "rules"
    should_continue: bool
    should_deepen: bool
    confidence_adjustment: float = Field(ge=-1.0, le=1.0)
    feedback: str = ""


class MetaEvaluation(Frozen):
    """Our own reasoning, questioned."""

    by: By = "rules"
    reasoning_quality: float = Score
    confidence_in_reasoning: float = Score
    concerns: tuple[str, ...] = ()
    should_replan: bool = False
    should_think_deeper: bool = False
    passes_recommended: int = Field(default=1, ge=1, le=MAX_THOUGHT_PASSES)
    feedback: str = ""


class ChangeReview(Frozen):
    """Self-critique of a change that verification found good; below the threshold it is refused all the same."""

    by: By
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """None is unknown and refuses nothing."""
    justification: str = ""
    issues: tuple[str, ...] = ()
    criteria: dict[str, bool] = Field(default_factory=dict)
    """The model's answers about the criteria that it added itself, by id."""
    refused: bool = False


class Route(StrEnum):
    """What a confidence allows."""

    EXECUTE = "execute"
    EXECUTE_WITH_CAUTION = "execute_with_caution"
    CLARIFY = "clarify"
    REPLAN = "replan"
    ESCALATE = "escalate"


class ConfidenceComponents(Frozen):
    """The parts of a confidence; a missing part is None, and 0.0 is a score."""

    thought: float = Score
    plan: float = Score
    critique: float | None = Field(default=None, ge=0.0, le=1.0)
    meta: float | None = Field(default=None, ge=0.0, le=1.0)


class ConfidenceAssessment(Frozen):
    """One number from all verdicts, and what it allows us to do."""

    kind: Literal["pre-execution"] = "pre-execution"
    overall: float = Score
    components: ConfidenceComponents
    action: Route
    reasoning: str
    risk_factors: tuple[str, ...] = ()
