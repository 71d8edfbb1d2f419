"""Failure analysis: Triage before any edit, and Diagnosis of the failure."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from sandbox.types import FileContext, Frozen, TestReport, TestResult

By = Literal["rules", "model", "fallback"]
"""The author of a judgement. Every judging stage has a rule form and a model form; `fallback` marks
the rules' result after a model gave no usable answer."""


class FailureKind(StrEnum):
    """The classification of a red check."""

    BUG = "bug"
    LINT = "lint"
    FLAKE = "flake"
    BASE_RED = "base_red"
    OUTAGE = "outage"
    NOT_REPRODUCED = "not_reproduced"
    NOT_BUILDABLE = "not_buildable"
    MERGE_ONLY = "merge_only"
    """Green on the commit itself, red when merged with its base branch."""


class Triage(Frozen):
    """Measurements before any edit: reproduction, repetition, and the base commit."""

    kind: FailureKind
    reason: str
    report: TestReport | None = None
    """The first run on the failing commit."""
    runs: int = 0
    red_runs: int = 0
    per_test_reds: dict[str, int] = Field(default_factory=dict)
    """Number of failures per test, out of `runs`."""
    base_failing: tuple[str, ...] = ()
    """Tests that fail on the base commit too."""
    base_checked: bool = False
    order_dependent: bool = False
    """The failure depends on the order of the tests, reproducibly."""
    neighbours: tuple[str, ...] = ()
    """For an order-dependent failure: the test that must run before, and the test that then
    fails."""
    leaves_traces: bool = False
    """A second run in the same place passes: the result depends on files outside the checkout."""
    longest_s: float = 0.0
    """Duration of the longest run, on the base commit too, in seconds."""
    notes: tuple[str, ...] = ()


class Suspect(Frozen):
    """A source location that may hold the cause."""

    file: str
    line: int
    score: float = Field(ge=0.0, le=1.0)
    reason: str


class Diagnosis(Frozen):
    """The failure, its location, and the reasoning behind it."""

    by: By = "rules"
    kind: FailureKind
    title: str
    """One line: `test_add expected 3, got -1 in calculator.add`."""
    cause: str
    """A paragraph for the person who reads the pull request."""
    failures: tuple[TestResult, ...]
    suspects: tuple[Suspect, ...] = ()
    contexts: tuple[FileContext, ...] = ()
    confidence: float = Field(ge=0.0, le=1.0)
    reasoning: str = ""
    fingerprint: str = ""
    """Identifies the failure across commits; see `bot.mission.judging.analyze.fingerprint`."""
    lessons: tuple[str, ...] = ()
    """Recalled lessons relevant to it, one sentence each."""
