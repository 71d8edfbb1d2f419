"""What we learned: Reflection, Insight, SuggestedImprovement, Lesson."""

from typing import Literal

from pydantic import Field

from sandbox.types import Frozen


class Insight(Frozen):
    """Something a mission showed."""

    category: Literal["success", "failure", "efficiency", "approach"]
    description: str
    evidence: str
    impact: str = ""


class SuggestedImprovement(Frozen):
    """Something to do better next time."""

    area: Literal["planning", "execution", "tool-usage", "reasoning"]
    suggestion: str
    priority: Literal["low", "medium", "high"]
    expected_impact: str = ""


class Reflection(Frozen):
    """A finished mission, looked back at."""

    by: Literal["rules", "model", "fallback"] = "rules"
    insights: tuple[Insight, ...]
    lessons_learned: tuple[str, ...]
    improvements: tuple[SuggestedImprovement, ...] = ()
    confidence: float = Field(ge=0.0, le=1.0)


class Lesson(Frozen):
    """What is kept of a mission; only gated text, keyed by repository."""

    id: str
    mission_id: str
    created_at: str
    """ISO 8601, UTC."""
    repository_id: str
    fingerprint: str
    outcome: str
    error: str | None = None
    """Exception class or lint rule of the first failure."""
    tests: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Files that were edited."""
    rung: int | None = None
    template: str | None = None
    sentence: str
    """The lesson, for people and for the next plan."""
    keywords: tuple[str, ...] = ()
    fate: Literal["open", "merged", "closed", "reverted", "unknown"] = "unknown"
    pull_request: int | None = None
    said: str = ""
    """The reason a person gave for refusing the fix."""
    boxes: tuple[str, ...] = ()
    """Boxes that reviewers ticked in the pull request: `right`, `cause`, `wrong`, `test`."""
    confidence: float | None = Field(default=None, ge=0.0, le=1.0)
    """The confidence that was shown before calibration; what became of it calibrates the next one."""


class Forecast(Frozen):
    """A confidence that was shown, and whether people took the fix."""

    confidence: float = Field(ge=0.0, le=1.0)
    merged: bool


class RecalledLesson(Frozen):
    """A lesson that bears on the present failure."""

    lesson: Lesson
    score: float = Field(ge=0.0, le=1.0)
    reason: str
    """`same fingerprint`, `same error in the same file`, `similar words`."""
