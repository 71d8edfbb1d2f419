"""The progress of a mission: MissionContext, Iteration, MissionState, Outcome, Budget."""

from enum import StrEnum
from typing import Self

from pydantic import Field

from bot.domain.decision import NextAction
from bot.domain.diagnosis import Diagnosis, Triage
from bot.domain.forecast import Forecast
from bot.domain.lesson import RecalledLesson
from bot.domain.model import ModelCall, Spend, total
from bot.domain.patch import (
    Candidate,
    Choice,
    FixAttempt,
    NearMiss,
    PinnedTest,
    Verification,
)
from bot.domain.plan import AcceptanceCriterion, Plan
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.domain.verdict import ConfidenceAssessment, Critique, MetaEvaluation
from sandbox.types import Frozen, LogReading, TestReport, WorkspaceFacts


class Outcome(StrEnum):
    """The result of a mission: exactly one, always reported to a person."""

    FIXED = "FIXED"
    """A verified change repairs every failure and changes nothing else."""
    IMPROVED = "IMPROVED"
    """Nothing was red, and a verified change makes the code better."""
    PARTIAL = "PARTIAL"
    """A verified change repairs some of the failures."""
    NOT_REPRODUCED = "NOT_REPRODUCED"
    """Red in CI, green in every run here."""
    FLAKY = "FLAKY"
    """Some runs of the same commit are red and others green."""
    BASE_RED = "BASE_RED"
    """The failures also occur on the base commit."""
    INFRA = "INFRA"
    """An outage caused the failure, not the code."""
    ENV_UNBUILDABLE = "ENV_UNBUILDABLE"
    """The job's environment cannot be rebuilt; the report names the missing part."""
    NEEDS_HUMAN = "NEEDS_HUMAN"
    """A person has to answer one question."""
    NO_FIX = "NO_FIX"
    """No candidate passed verification."""
    BUDGET = "BUDGET"
    """A limit for time, money or missions is reached."""
    STALE = "STALE"
    """The branch moved during the mission."""
    DUPLICATE = "DUPLICATE"
    """A fix of the same failure is open, or a person refused the same change before."""
    POLICY = "POLICY"
    """The repository or the operator does not allow it."""
    CANCELLED = "CANCELLED"
    """A person cancelled the mission."""
    ERROR = "ERROR"
    """A fault of MetaAgent or its host."""


class MissionState(StrEnum):
    """The current state of a mission."""

    PENDING = "PENDING"
    """Triage is running; nothing is planned yet."""
    PLANNING = "PLANNING"
    RUNNING = "RUNNING"
    """A fixer is searching for a change."""
    VALIDATING = "VALIDATING"
    """A change is being verified."""
    WAITING_FOR_HUMAN = "WAITING_FOR_HUMAN"
    """The mission ended with a question; the answer starts a follow-up mission."""
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


_STATE_AFTER = {
    Outcome.CANCELLED: MissionState.CANCELLED,
    Outcome.ERROR: MissionState.FAILED,
    Outcome.NEEDS_HUMAN: MissionState.WAITING_FOR_HUMAN,
}
"""The states that outcomes lead to, other than COMPLETED."""


class Iteration(Frozen):
    """One iteration of the loop: the value of every stage, in order."""

    number: int
    diagnosis: Diagnosis | None = None
    plan: Plan | None = None
    critique: Critique | None = None
    meta: MetaEvaluation | None = None
    confidence: ConfidenceAssessment | None = None
    replanned: bool = False
    next_action: NextAction | None = None
    attempt: FixAttempt | None = None
    candidate: Candidate | None = None
    verification: Verification | None = None


class Budget(Frozen):
    """The limits of a mission, and what it has used."""

    iterations: int = 5
    seconds: float = 1800.0
    money_usd: float = 0.0
    spent_iterations: int = 0
    spent_seconds: float = 0.0
    spent_usd: float = 0.0

    @property
    def allows_another_iteration(self) -> bool:
        """Return True if iterations and time remain."""
        return self.spent_iterations < self.iterations and self.spent_seconds < self.seconds

    @property
    def is_money_spent(self) -> bool:
        """Return True if the money for models is spent.

        With a budget of zero, models that cost nothing may still be called.
        """
        return 0.0 < self.spent_usd >= self.money_usd


class MissionContext(Frozen):
    """The complete state of a mission; saved after every stage, replayable from its JSON."""

    mission_id: str
    request: MissionRequest
    policy: RepositoryPolicy = RepositoryPolicy()
    created_at: str
    target_path: str
    """`owner/name` or the folder."""
    test_command: str = ""
    state: MissionState = MissionState.PENDING
    budget: Budget = Budget()
    ci_log: LogReading | None = None
    """The summary of the red job's log; None without a log."""
    facts: WorkspaceFacts | None = None
    triage: Triage | None = None
    test_results: TestReport | None = None
    """The red run that serves as baseline."""
    acceptance_criteria: tuple[AcceptanceCriterion, ...] = ()
    lessons: tuple[RecalledLesson, ...] = ()
    iterations: tuple[Iteration, ...] = ()
    outcome: Outcome | None = None
    reason: str = ""
    """The reason for the outcome, in one sentence for a person."""
    advice: str = ""
    question: str | None = None
    """With NEEDS_HUMAN: one question."""
    choices: tuple[Choice, ...] = ()
    """Changes that answer the question, the verified one first; may be empty."""
    error_reference: str | None = None
    seconds: float = 0.0
    cost_usd: float = 0.0
    calls: tuple[ModelCall, ...] = ()
    """Model calls, in order."""
    forecast: Forecast | None = None
    """The expected use of models, before the first call; None without models."""
    spent: Spend | None = None
    """Model costs from the ledger, including interrupted attempts; None without models."""
    near_misses: tuple[NearMiss, ...] = ()
    """Near misses of the search during a climb, for the rungs above it."""
    regression_test: PinnedTest | None = None
    """A test for the fix, if the policy asks for one and one could be proved."""
    doubted: tuple[Candidate, ...] = ()
    """Plausible candidates of lower rungs that are not confident, during a climb."""

    @property
    def current(self) -> Iteration | None:
        """Return the newest iteration."""
        return self.iterations[-1] if self.iterations else None

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Return the newest diagnosis."""
        return next((i.diagnosis for i in reversed(self.iterations) if i.diagnosis), None)

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the initial failure; empty without a diagnosis."""
        return next(
            (
                i.diagnosis.fingerprint
                for i in self.iterations
                if i.diagnosis and i.diagnosis.fingerprint
            ),
            "",
        )

    @property
    def fix(self) -> tuple[Candidate, Verification] | None:
        """Return the verified or partial change; None if the commit itself has no bug."""
        if self.outcome in {Outcome.FLAKY, Outcome.BASE_RED, Outcome.INFRA}:
            return None
        for iteration in reversed(self.iterations):
            if iteration.candidate is not None and iteration.verification is not None:
                verification = iteration.verification
                if verification.green or verification.partial:
                    return iteration.candidate, verification
        return None

    @property
    def bill(self) -> Spend:
        """Return the model costs: from the ledger if it knows of more calls than the mission."""
        known = total(self.calls)
        return self.spent if self.spent is not None and self.spent.calls > known.calls else known

    @property
    def candidates_tried(self) -> int:
        """Return the number of candidates tried over all iterations."""
        return sum(i.attempt.candidates_tried for i in self.iterations if i.attempt)

    def ended(self, outcome: Outcome, reason: str, **more: object) -> Self:
        """Return this mission with its final outcome."""
        state = _STATE_AFTER.get(outcome, MissionState.COMPLETED)
        return self.with_(outcome=outcome, reason=reason, state=state, **more)


class Confidence(Frozen):
    """The confidence shown after execution: the probability that the fix is right."""

    value: float | None = Field(default=None, ge=0.0, le=1.0)
    """None means that no value can be given."""
    calibrated: bool = False
    """True if it begins with a rank that was calibrated on known changes."""
    outcomes: int = 0
    """Number of outcomes of this installation that corrected it."""
    factors: tuple[str, ...] = ()
