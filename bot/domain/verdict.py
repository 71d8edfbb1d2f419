"""Judgements before execution: Critique, MetaEvaluation, LiveAssessment, ConfidenceAssessment.

The numbers come from the mission specification. They select a route; they never prove a fix.
"""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from bot.domain.diagnosis import By
from sandbox.types import Frozen

APPROVE_FROM = 0.8
REVISE_FROM = 0.6
"""Lowest scores at which the critic approves a plan, or asks for a revision; it rejects others."""
REPLAN_BELOW = 0.6
DEEPEN_BELOW = 0.7
"""Scores of the meta evaluation below which it plans again, or thinks deeper."""
PROCEED_FROM = 0.6
"""Lowest confidence at which a check without a model proceeds."""
CRITICAL_PENALTY = 0.2
CONCERN_PENALTY = 0.05
"""Confidence lost per critical issue, and per concern of the meta evaluation."""
LIVE_ADJUSTMENT_WEIGHT = 0.2
"""Share of a live assessment's adjustment that changes the confidence of a thought."""
MAX_THOUGHT_PASSES = 3

Score = Field(ge=0.0, le=1.0)


class Severity(StrEnum):
    """The weight of an issue."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class IssueCategory(StrEnum):
    """The category of an issue."""

    LOGIC = "logic"
    FEASIBILITY = "feasibility"
    EFFICIENCY = "efficiency"
    SAFETY = "safety"
    COMPLETENESS = "completeness"


class CritiqueIssue(Frozen):
    """One problem of a plan."""

    severity: Severity
    category: IssueCategory
    description: str
    suggestion: str = ""
    affected_steps: tuple[str, ...] = ()


class Recommendation(StrEnum):
    """The critic's recommendation."""

    APPROVE = "approve"
    REVISE = "revise"
    REJECT = "reject"


class Critique(Frozen):
    """Scores of a plan before execution."""

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
    """Reasoning about the failure, with its confidence."""

    reasoning: str
    confidence: float = Score


class LiveAssessment(Frozen):
    """A judgement of one thought."""

    by: By = "rules"
    should_continue: bool
    should_deepen: bool
    confidence_adjustment: float = Field(ge=-1.0, le=1.0)
    feedback: str = ""


class MetaEvaluation(Frozen):
    """An evaluation of our own reasoning."""

    by: By = "rules"
    reasoning_quality: float = Score
    confidence_in_reasoning: float = Score
    concerns: tuple[str, ...] = ()
    should_replan: bool = False
    should_think_deeper: bool = False
    passes_recommended: int = Field(default=1, ge=1, le=MAX_THOUGHT_PASSES)
    feedback: str = ""


class ChangeReview(Frozen):
    """A model's review of a verified change; a score below the threshold refuses it."""

    by: By
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """None means unknown and never refuses."""
    justification: str = ""
    issues: tuple[str, ...] = ()
    criteria: dict[str, bool] = Field(default_factory=dict)
    """The model's verdicts on its own criteria, by id."""
    refused: bool = False


class Route(StrEnum):
    """The action that a confidence permits."""

    EXECUTE = "execute"
    EXECUTE_WITH_CAUTION = "execute_with_caution"
    CLARIFY = "clarify"
    REPLAN = "replan"
    ESCALATE = "escalate"


class ConfidenceComponents(Frozen):
    """The parts of a confidence. None is missing; 0.0 is a score."""

    thought: float = Score
    plan: float = Score
    critique: float | None = Field(default=None, ge=0.0, le=1.0)
    meta: float | None = Field(default=None, ge=0.0, le=1.0)


class ConfidenceAssessment(Frozen):
    """The confidence from all verdicts, and the resulting action."""

    kind: Literal["pre-execution"] = "pre-execution"
    overall: float = Score
    components: ConfidenceComponents
    action: Route
    reasoning: str
    risk_factors: tuple[str, ...] = ()
