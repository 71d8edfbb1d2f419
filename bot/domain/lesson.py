"""Lessons from missions: Reflection, Insight, SuggestedImprovement, Lesson."""

import math
from typing import Literal

from pydantic import Field

from sandbox.types import Frozen, KnownCall


class Insight(Frozen):
    """An observation from a mission."""

    category: Literal["success", "failure", "efficiency", "approach"]
    description: str
    evidence: str
    impact: str = ""


class SuggestedImprovement(Frozen):
    """An improvement for the next mission."""

    area: Literal["planning", "execution", "tool-usage", "reasoning"]
    suggestion: str
    priority: Literal["low", "medium", "high"]
    expected_impact: str = ""


class StepResult(Frozen):
    """A step of a mission and its result."""

    name: str
    result: str
    seconds: float | None = None
    """None for a step whose duration was not kept."""


class Reflection(Frozen):
    """The review of a finished mission."""

    by: Literal["rules", "model", "fallback"] = "rules"
    insights: tuple[Insight, ...]
    lessons_learned: tuple[str, ...]
    improvements: tuple[SuggestedImprovement, ...] = ()
    confidence: float = Field(ge=0.0, le=1.0)
    seconds: float = 0.0
    """Duration of the mission, in seconds."""
    steps: tuple[StepResult, ...] = ()


SHARED = "shared"
"""`repository_id` of a lesson of another repository."""


class AlikeEdit(Frozen):
    """A small change that passed the search and behaved like the fix."""

    template: str
    diff: str
    """Unified diff against the failing commit."""


class RememberedFix(Frozen):
    """A verified change that is tried first when the same failure comes back."""

    diff: str
    """Unified diff against the failing commit."""
    title: str
    score: float = Field(ge=0.0, le=1.0)
    """The fixer's own score."""
    plausible: int = 1
    behaviours: int = 1
    warnings: tuple[str, ...] = ()
    candidates: int = 0
    """Candidates that were tried until it was found first."""
    seconds: float = 0.0
    """Duration of that search, in seconds."""
    calls: tuple[KnownCall, ...] = ()
    """Calls of its comparison, by which its behaviour is recognized in other code."""
    alike: tuple[AlikeEdit, ...] = ()
    """Other ways to write it. At another place, one of them may be the right one."""


class Lesson(Frozen):
    """The stored result of a mission; gated text only, keyed by repository."""

    id: str
    mission_id: str
    created_at: str
    """ISO 8601, UTC."""
    version: int = 1
    """Grows whenever people's decisions or a repeated reflection change the lesson."""
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
    fate: Literal["open", "merged", "closed", "reverted", "ignored", "answered", "unknown"] = (
        "unknown"
    )
    way: Literal["pull-request", "push", "suggest", "report"] | None = None
    """The way in which the fix was handed over."""
    pull_request: int | None = None
    said: str = ""
    """The reason a person gave for refusing the fix."""
    boxes: tuple[str, ...] = ()
    """Boxes that reviewers ticked in the pull request: `right`, `cause`, `wrong`, `test`."""
    difference: str = ""
    """The change that people made to the fix before they took it, as a diff; `fix` is theirs."""
    confidence: float | None = Field(default=None, ge=0.0, le=1.0)
    """The confidence shown, before any correction by outcomes."""
    rank: float | None = Field(default=None, ge=0.0, le=1.0)
    """The probability that the ranking gave the fix, which its outcome corrects for later fixes.
    None without a ranking, as for fixes of tools, and in lessons of earlier versions."""
    fix: RememberedFix | None = None
    """None without a verified fix, or if its text does not pass the gate unchanged."""
    reflection: Reflection | None = None
    """The review that the lesson is drawn from; None in lessons of earlier versions."""

    @property
    def verdict(self) -> bool | None:
        """Return whether people took exactly this fix; None if they have not decided."""
        if self.difference or self.fate in {"closed", "reverted"}:
            return False
        # An answer in words takes no change.
        if self.fate == "merged" or (self.fate == "answered" and self.fix is not None):
            return True
        # A reviewer may tick a box and leave the pull request open.
        ticked = {"right": True, "cause": False, "wrong": False, "test": False}
        return next((ticked[box] for box in self.boxes if box in ticked), None)


class Forecast(Frozen):
    """A confidence that was shown, and whether the fix was merged."""

    confidence: float = Field(ge=0.0, le=1.0)
    merged: bool


MOST_ODDS = 2.5
"""Log-odds up to which the slope of a correction applies, a probability of about 0.92. Without
this limit, a few outcomes far from 0.5 would decide the slope."""
LEAST_SLOPE, MOST_SLOPE = 0.5, 1.5


class Correction(Frozen):
    """A correction of ranks by the outcomes of an installation, as a line in log-odds."""

    shift: float = 0.0
    """Added to the log-odds."""
    slope: float = Field(default=1.0, ge=LEAST_SLOPE, le=MOST_SLOPE)
    """Factor on the log-odds; positive, so that the order stays."""
    outcomes: int = 0
    """Number of outcomes that it is learned from."""

    def apply(self, value: float) -> float:
        """Return the corrected probability."""
        if not self.outcomes:
            return value
        odds = log_odds(value)
        inner = bounded_odds(odds)
        return within(probability(self.shift + self.slope * inner + (odds - inner)))


def log_odds(value: float) -> float:
    """Return the log-odds of a probability, as if it were never quite certain."""
    value = within(value)
    return math.log(value / (1.0 - value))


def bounded_odds(odds: float) -> float:
    """Return log-odds within the range to which the slope of a correction applies."""
    return max(-MOST_ODDS, min(MOST_ODDS, odds))


def probability(odds: float) -> float:
    """Return the probability of log-odds."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, odds))))


def within(value: float) -> float:
    """Return a probability between 0.01 and 0.99: no number of runs is certain."""
    return min(0.99, max(0.01, value))


class RecalledLesson(Frozen):
    """A lesson relevant to the current failure."""

    lesson: Lesson
    score: float = Field(ge=0.0, le=1.0)
    reason: str
    """`same fingerprint`, `same error in the same file`, `similar words`, or `same edit` for a
    lesson whose accepted edit was made at another place."""
