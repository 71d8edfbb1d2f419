"""A proposed change, where it came from, and the proof that it works: Candidate, Verification."""

from enum import IntEnum
from typing import Literal

from pydantic import Field

from bot.domain.diagnosis import Suspect
from bot.domain.model import ModelCall
from bot.domain.plan import AcceptanceCriterion
from bot.domain.verdict import ChangeReview
from sandbox.types import FileChange, FileEdit, Frozen, TestReport, TestStatus


class Rung(IntEnum):
    """A step of the ladder, from cheap to dear."""

    TOOLS = 0
    SEARCH = 1
    MODEL = 2


class Rival(Frozen):
    """Another plausible fix that behaves differently."""

    template: str
    path: str
    line: int
    description: str
    distinguishing_input: str = ""
    results: tuple[str, str] = ("", "")
    """What the fix gives on that input, and what this rival gives."""
    candidate_id: str = ""
    """Of the candidate that holds its changes; empty when it is not known."""


class Mutants(Frozen):
    """Whether the tests would notice other mistakes in the patched lines."""

    tried: int
    killed: int


class Candidate(Frozen):
    """A change some rung proposes. Plausible at best: only verify may call it more."""

    id: str
    rung: Rung
    fixer: str
    """`ruff`, `search`, ..."""
    template: str = ""
    """Which tool rule or template made it."""
    title: str
    """One line for the commit: `use <= in clamp`."""
    explanation: str = ""
    changes: tuple[FileChange, ...]
    candidates_tried: int = 0
    plausible: int = 1
    """How many candidates passed in the search."""
    behaviours: int = 1
    """How many of them behave differently on some input."""
    rivals: tuple[Rival, ...] = ()
    warnings: tuple[str, ...] = ()
    partial: bool = False
    """It is known to mend some failing tests only: what is left where nothing mends them all."""
    score: float = Field(default=0.5, ge=0.0, le=1.0)
    """How much its own fixer believes in it: of a searched fix the probability that it is right."""
    confident: bool = True
    """Likely right and clearly ahead of every rival; one that is not is shown to a person before anything is opened."""
    inputs: int = 0
    """On how many inputs it was compared with its rivals and with the program before."""
    mutants: Mutants | None = None
    """Where that was measured."""
    held_out: int = 0
    """Passing tests near the failure that its search did not see; the verification runs them."""
    cost_usd: float = 0.0
    seconds: float = 0.0


class Choice(Frozen):
    """One of the changes that a question lets a person choose from."""

    title: str
    diff: str
    """Against the failing commit."""
    edits: tuple[FileEdit, ...] = ()
    rung: Rung
    template: str = ""
    explanation: str = ""
    verified: bool = False
    """It passed in fresh sandboxes; the others passed in the search only."""
    differs_on: str = ""
    """An input on which it and the first choice give different results."""
    results: tuple[str, str] = ("", "")
    """The result of the first choice on that input, and its own."""


class NearMiss(Frozen):
    """A searched change that turned some failing tests green and not all; a model is shown it."""

    path: str
    line: int
    description: str
    diff: str
    """Unified diff, bounded."""
    mended: tuple[str, ...]
    """The tests it turned green."""
    changes: tuple[FileChange, ...] = ()


class FixBudget(Frozen):
    """What the ladder may spend in one climb; the rung of models has as many candidates once more."""

    time_limit_s: float = 90.0
    model_time_limit_s: float = 300.0
    """Of the rung that waits for models, whatever the rungs below it took of theirs."""
    max_candidates: int = 100_000
    max_survivors: int = 8
    money_usd: float = 0.0


class RungNote(Frozen):
    """What a rung has to say when it ends: why it proposed nothing (or no more), and what that cost."""

    reason: str
    candidates_tried: int = 0
    cost_usd: float = 0.0
    question: str = ""
    """What a person could decide that no rung may: a dependency to declare, say."""
    calls: tuple[ModelCall, ...] = ()
    """What models were asked, for all candidates of the rung."""
    near: tuple[NearMiss, ...] = ()
    """For the rungs above."""
    suspects: tuple[Suspect, ...] = ()
    """Where it looked first, most suspect first; for the rungs above."""


class FixAttempt(Frozen):
    """One climb of the ladder."""

    candidates: tuple[Candidate, ...] = ()
    """Best first."""
    candidates_tried: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """Why a rung proposed nothing."""
    cost_usd: float = 0.0
    question: str = ""
    """What a person could decide; the first rung that had to ask."""
    calls: tuple[ModelCall, ...] = ()
    """What models were asked."""
    rungs: tuple[int, ...] = ()
    """The rungs that were asked."""
    near: tuple[NearMiss, ...] = ()
    """What mended a part, for the rungs above, should the candidates be refused."""
    suspects: tuple[Suspect, ...] = ()
    """Where the rungs looked first, for the same."""


class TestChange(Frozen):
    """One test before and after."""

    __test__ = False

    name: str
    before: TestStatus | None
    after: TestStatus | None


class VerifiedRun(Frozen):
    """One run in the fresh workspace."""

    label: Literal["failing tests", "full command", "full command again", "other order"]
    report: TestReport
    sandbox: int = 1
    """In which of the two fresh sandboxes."""
    seed: int = 0
    """Of hashing and order: another one in the second sandbox."""


class Verification(Frozen):
    """What the fresh workspace showed."""

    green: bool
    partial: bool = False
    """Some failures gone, none new, not all green."""
    reason: str
    runs: tuple[VerifiedRun, ...] = ()
    control: TestReport | None = None
    """The failing tests once more without the change, in a sandbox where they were green with it: only when they are
    red there does the change explain that."""
    flaky: bool = False
    """The failing tests were green without the change: chance, and no fix, made them green."""
    table: tuple[TestChange, ...] = ()
    """Every test that changed, and every one that was red."""
    newly_failing: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Tests that were collected before and are not now."""
    newly_skipped: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    """What the tamper guard refused."""
    doubts: tuple[str, ...] = ()
    criteria: tuple[AcceptanceCriterion, ...] = ()
    """The acceptance criteria as these runs leave them."""
    diff: str = ""
    """Unified diff, accepted by `git apply`."""
    edits: tuple[FileEdit, ...] = ()
    review: ChangeReview | None = None
    """What a model thought of a change that these runs found good."""
    seconds: float = 0.0
    not_verified: tuple[str, ...] = ()
