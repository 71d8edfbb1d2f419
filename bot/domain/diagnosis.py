"""What is broken and where: Triage before any edit, Diagnosis of the failure."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from sandbox.types import FileContext, Frozen, TestReport, TestResult

By = Literal["rules", "model", "fallback"]
"""Who spoke: every judging stage has two forms, and the value says which one; `fallback` is the rules' word after a
model was asked and gave no usable answer."""


class FailureKind(StrEnum):
    """What the red check turned out to be."""

    BUG = "bug"
    LINT = "lint"
    FLAKE = "flake"
    BASE_RED = "base_red"
    OUTAGE = "outage"
    NOT_REPRODUCED = "not_reproduced"
    NOT_BUILDABLE = "not_buildable"
    MERGE_ONLY = "merge_only"
    """Green on the commit itself, red where it is merged with its base branch."""


class Triage(Frozen):
    """Measured before any edit: reproduced?, the same again?, on the base commit?"""

    kind: FailureKind
    reason: str
    report: TestReport | None = None
    """The first run on the failing commit."""
    runs: int = 0
    red_runs: int = 0
    per_test_reds: dict[str, int] = Field(default_factory=dict)
    """In how many of `runs` each failing test failed."""
    base_failing: tuple[str, ...] = ()
    """Tests that fail on the base commit too."""
    base_checked: bool = False
    order_dependent: bool = False
    """It fails in some order of the tests and passes in another, every time."""
    neighbours: tuple[str, ...] = ()
    """Of an order-dependent failure: the test that has to run before, and the one that then fails."""
    leaves_traces: bool = False
    """It passes where the command ran before: it depends on files outside the checkout."""
    notes: tuple[str, ...] = ()


class Suspect(Frozen):
    """A place in the source that may hold the cause."""

    file: str
    line: int
    score: float = Field(ge=0.0, le=1.0)
    reason: str


class Diagnosis(Frozen):
    """What is broken, where, and why we think so."""

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
    """Names the failure whatever the commit; see `bot.mission.analyze.fingerprint`."""
    lessons: tuple[str, ...] = ()
    """Recalled lessons that bear on it, one sentence each."""
