"""What has happened so far: MissionContext, Iteration, MissionState, Outcome, Budget."""

from enum import StrEnum
from typing import Self

from pydantic import Field

from bot.domain.decision import NextAction
from bot.domain.diagnosis import Diagnosis, Triage
from bot.domain.lesson import RecalledLesson
from bot.domain.model import ModelCall, Spend, total
from bot.domain.patch import Candidate, Choice, FixAttempt, NearMiss, Verification
from bot.domain.plan import AcceptanceCriterion, Plan
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.domain.verdict import ConfidenceAssessment, Critique, MetaEvaluation
from sandbox.types import Frozen, LogReading, TestReport, WorkspaceFacts


class Outcome(StrEnum):
    """How a mission ends; exactly one, always told to a human."""

    FIXED = "FIXED"
    """A change is verified: every failure is gone, and nothing else changed."""
    PARTIAL = "PARTIAL"
    """A verified change repairs a part of the failures."""
    NOT_REPRODUCED = "NOT_REPRODUCED"
    """Red in CI, green here in every run."""
    FLAKY = "FLAKY"
    """The same commit is red in some runs and green in others."""
    BASE_RED = "BASE_RED"
    """The failures were there on the base commit already."""
    INFRA = "INFRA"
    """An outage, not the code."""
    ENV_UNBUILDABLE = "ENV_UNBUILDABLE"
    """The job's environment cannot be rebuilt; the missing part is named."""
    NEEDS_HUMAN = "NEEDS_HUMAN"
    """One clear question is open."""
    NO_FIX = "NO_FIX"
    """Nothing that was tried survived its verification."""
    BUDGET = "BUDGET"
    """A limit of time, money or number is spent."""
    STALE = "STALE"
    """The branch moved on while the mission ran."""
    DUPLICATE = "DUPLICATE"
    """A fix of the same failure is open, or a person refused this very change."""
    POLICY = "POLICY"
    """The repository or the operator does not allow it."""
    CANCELLED = "CANCELLED"
    """A person stopped it."""
    ERROR = "ERROR"
    """A fault of MetaAgent or of its host."""


class MissionState(StrEnum):
    """Where a mission stands."""

    PENDING = "PENDING"
    """Triage measures; nothing is planned yet."""
    PLANNING = "PLANNING"
    RUNNING = "RUNNING"
    """A fixer looks for a change."""
    VALIDATING = "VALIDATING"
    """A change is verified."""
    WAITING_FOR_HUMAN = "WAITING_FOR_HUMAN"
    """It ended with a question; the answer starts the mission that goes on."""
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


_STATE_AFTER = {
    Outcome.CANCELLED: MissionState.CANCELLED,
    Outcome.ERROR: MissionState.FAILED,
    Outcome.NEEDS_HUMAN: MissionState.WAITING_FOR_HUMAN,
}
"""The state that an outcome leaves a mission in, where that is not COMPLETED."""


class Iteration(Frozen):
    """One turn of the loop: every stage's value, in order."""

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
    """What a mission may still spend, and what it has spent."""

    iterations: int = 5
    seconds: float = 1800.0
    money_usd: float = 0.0
    spent_iterations: int = 0
    spent_seconds: float = 0.0
    spent_usd: float = 0.0

    @property
    def allows_another_iteration(self) -> bool:
        """Whether the loop may turn once more."""
        return self.spent_iterations < self.iterations and self.spent_seconds < self.seconds

    @property
    def is_money_spent(self) -> bool:
        """Whether no model may be paid any more; without any money those that cost nothing may still be asked."""
        return 0.0 < self.spent_usd >= self.money_usd


class MissionContext(Frozen):
    """Everything that is known about one mission; saved after every stage, replayable from its JSON."""

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
    """What the red job's log says; None when there is none."""
    facts: WorkspaceFacts | None = None
    triage: Triage | None = None
    test_results: TestReport | None = None
    """The red run everything is compared with."""
    acceptance_criteria: tuple[AcceptanceCriterion, ...] = ()
    lessons: tuple[RecalledLesson, ...] = ()
    iterations: tuple[Iteration, ...] = ()
    outcome: Outcome | None = None
    reason: str = ""
    """Why it ended so, in one sentence for a person."""
    advice: str = ""
    question: str | None = None
    """With NEEDS_HUMAN: one clear question."""
    choices: tuple[Choice, ...] = ()
    """The changes that answer the question, the verified one first; empty when no change answers it."""
    error_reference: str | None = None
    seconds: float = 0.0
    cost_usd: float = 0.0
    calls: tuple[ModelCall, ...] = ()
    """What models were asked, in order."""
    spent: Spend | None = None
    """What the ledger says models cost, also in tries that a dead process broke off; None where none was asked."""
    near_misses: tuple[NearMiss, ...] = ()
    """Of the search, while a climb is under way; for the rungs above it."""

    @property
    def current(self) -> Iteration | None:
        """The newest iteration."""
        return self.iterations[-1] if self.iterations else None

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The newest diagnosis."""
        return next((i.diagnosis for i in reversed(self.iterations) if i.diagnosis), None)

    @property
    def fingerprint(self) -> str:
        """Names the failure this mission began with; empty when it never got as far as a diagnosis."""
        return next((i.diagnosis.fingerprint for i in self.iterations if i.diagnosis and i.diagnosis.fingerprint), "")

    @property
    def fix(self) -> tuple[Candidate, Verification] | None:
        """The verified (or partial) change this mission ended with; what is no bug of the commit has none."""
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
        """What models cost: as the ledger says it, when that knows of more calls than the mission itself."""
        known = total(self.calls)
        return self.spent if self.spent is not None and self.spent.calls > known.calls else known

    @property
    def candidates_tried(self) -> int:
        """Over all iterations."""
        return sum(i.attempt.candidates_tried for i in self.iterations if i.attempt)

    def ended(self, outcome: Outcome, reason: str, **more: object) -> Self:
        """This mission with its one outcome."""
        state = _STATE_AFTER.get(outcome, MissionState.COMPLETED)
        return self.with_(outcome=outcome, reason=reason, state=state, **more)


class Confidence(Frozen):
    """The confidence a reader sees, after execution; heuristic until enough outcomes calibrate it."""

    value: float | None = Field(default=None, ge=0.0, le=1.0)
    """None abstains."""
    calibrated: bool = False
    factors: tuple[str, ...] = ()
