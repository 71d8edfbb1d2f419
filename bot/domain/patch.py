"""Proposed changes, their sources, and the proof that they work: Candidate, Verification."""

from enum import IntEnum
from typing import Literal

from pydantic import Field

from bot.domain.diagnosis import Suspect
from bot.domain.lesson import AlikeEdit, RecalledLesson
from bot.domain.model import ModelCall
from bot.domain.plan import AcceptanceCriterion
from bot.domain.verdict import ChangeReview
from sandbox.types import FileChange, FileEdit, Frozen, KnownCall, TestReport, TestStatus


class Rung(IntEnum):
    """A rung of the ladder, from cheap to expensive."""

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
    """The results of the fix and of this rival on that input."""
    candidate_id: str = ""
    """The candidate that holds its changes; empty when unknown."""


class Mutants(Frozen):
    """Mutation test of the patched lines: shows whether the tests detect other mistakes there."""

    tried: int
    killed: int


class Candidate(Frozen):
    """A change proposed by a rung. It is plausible at best; only verification can confirm it."""

    id: str
    rung: Rung
    fixer: str
    """`ruff`, `search`, ..."""
    template: str = ""
    """The tool rule or template that produced it."""
    title: str
    """One line for the commit: `use <= in clamp`."""
    explanation: str = ""
    changes: tuple[FileChange, ...]
    candidates_tried: int = 0
    plausible: int = 1
    """Number of candidates that passed in the search."""
    behaviours: int = 1
    """Number of behavioural clusters among them."""
    rivals: tuple[Rival, ...] = ()
    warnings: tuple[str, ...] = ()
    partial: bool = False
    """True if it repairs only some failing tests, and no candidate repairs all."""
    score: float = Field(default=0.5, ge=0.0, le=1.0)
    """The fixer's own score: for a searched fix, the probability that it is correct."""
    confident: bool = False
    """True if it may be offered without asking a person; set only with a reason."""
    ranked: bool = False
    """True if the score is a calibrated probability of the ranking, not set by hand."""
    inputs: int = 0
    """Number of inputs on which it was compared with its rivals and with the original program."""
    mutants: Mutants | None = None
    """None when not measured."""
    held_out: int = 0
    """Passing tests near the failure that were withheld from the search; verification runs them."""
    cost_usd: float = 0.0
    seconds: float = 0.0
    recalled_from: str = ""
    """The id of the lesson that it was recalled from."""
    calls: tuple[KnownCall, ...] = ()
    """Calls of the comparison, by which its behaviour can be recognized later."""
    alike: tuple[AlikeEdit, ...] = ()
    """Small changes that passed the search and behave like it."""


class Choice(Frozen):
    """One of the changes a person can choose from."""

    title: str
    diff: str
    """Unified diff against the failing commit."""
    edits: tuple[FileEdit, ...] = ()
    rung: Rung
    template: str = ""
    explanation: str = ""
    verified: bool = False
    """Passed in fresh sandboxes; the other choices passed in the search only."""
    differs_on: str = ""
    """An input on which it and the first choice give different results."""
    results: tuple[str, str] = ("", "")
    """The results of the first choice and of this one on that input."""
    calls: tuple[KnownCall, ...] = ()
    """Calls of its comparison, those that distinguish it first."""
    alike: tuple[AlikeEdit, ...] = ()
    """Small changes that behave like it."""


class NearMiss(Frozen):
    """A searched change that turned some of the failing tests green; shown to a model."""

    path: str
    line: int
    description: str
    diff: str
    """Unified diff, bounded."""
    mended: tuple[str, ...]
    """The tests that it turned green."""
    changes: tuple[FileChange, ...] = ()


class FixBudget(Frozen):
    """The limits of one climb of the ladder.

    The model rung gets the same number of candidates again.
    """

    time_limit_s: float = 90.0
    model_time_limit_s: float = 300.0
    """Time limit of the model rung, in seconds, independent of the rungs below."""
    max_candidates: int = 100_000
    max_survivors: int = 8
    money_usd: float = 0.0
    first: Rung | None = None
    """The rung that is asked before the cheaper ones."""


class RungNote(Frozen):
    """A rung's closing note: the reason for proposing nothing (more), and the cost."""

    reason: str
    candidates_tried: int = 0
    cost_usd: float = 0.0
    question: str = ""
    """A decision for a person that no rung may make, such as declaring a dependency."""
    calls: tuple[ModelCall, ...] = ()
    """Model calls for all candidates of the rung."""
    near: tuple[NearMiss, ...] = ()
    """Near misses, for the rungs above."""
    suspects: tuple[Suspect, ...] = ()
    """Suspects in the order they were searched, for the rungs above."""
    compared: tuple[Candidate, ...] = ()
    """Doubted candidates of lower rungs, ranked again beside this rung's own."""
    recalled_lessons: tuple[RecalledLesson, ...] = ()
    """Lessons whose edits were made at the places of this failure."""


class FixAttempt(Frozen):
    """One climb of the ladder."""

    candidates: tuple[Candidate, ...] = ()
    """Best first."""
    candidates_tried: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """Reasons of rungs that proposed nothing."""
    cost_usd: float = 0.0
    question: str = ""
    """The question of the first rung that had one."""
    calls: tuple[ModelCall, ...] = ()
    """Model calls."""
    rungs: tuple[int, ...] = ()
    """The rungs that were run."""
    near: tuple[NearMiss, ...] = ()
    """Near misses for the rungs above, in case the candidates are refused."""
    suspects: tuple[Suspect, ...] = ()
    """Suspects for the rungs above, in case the candidates are refused."""
    recalled: bool = False
    """The candidates are recalled fixes; no rung was asked."""
    recalled_lessons: tuple[RecalledLesson, ...] = ()
    """Lessons whose edits were made at the places of this failure."""
    refused: int = 0
    """Number of candidates left out, because people refused the same change before."""


class PinnedTest(Frozen):
    """A new test for the repaired behaviour, which was seen to fail before and pass after."""

    name: str
    path: str
    content: str
    """The whole test file with the new test."""
    call: str
    """`fits(3, 3)`"""
    result: str


class TestChange(Frozen):
    """The status of one test before and after the change."""

    __test__ = False

    name: str
    before: TestStatus | None
    after: TestStatus | None


class VerifiedRun(Frozen):
    """One run in a fresh workspace."""

    label: Literal["failing tests", "full command", "full command again", "other order"]
    report: TestReport
    sandbox: int = 1
    """Number of the fresh sandbox: 1 or 2."""
    seed: int = 0
    """Seed for hashing and order; the second sandbox uses another one."""


class Verification(Frozen):
    """The results from fresh workspaces."""

    green: bool
    partial: bool = False
    """Some failures repaired, none new, not all green."""
    reason: str
    runs: tuple[VerifiedRun, ...] = ()
    control: TestReport | None = None
    """The failing tests without the change, in a sandbox where they passed with it. Only a red
    result here shows that the change is the cause."""
    flaky: bool = False
    """The failing tests also passed without the change, so the fix did not cause the pass."""
    table: tuple[TestChange, ...] = ()
    """Every test that changed or was red."""
    newly_failing: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Tests that were collected before and no longer are."""
    newly_skipped: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    """Refusals of the tamper guard."""
    doubts: tuple[str, ...] = ()
    unsure: str = ""
    """Why a person is asked although the fix is green; empty if nothing speaks against it."""
    criteria: tuple[AcceptanceCriterion, ...] = ()
    """The acceptance criteria after these runs."""
    diff: str = ""
    """Unified diff, accepted by `git apply`."""
    edits: tuple[FileEdit, ...] = ()
    review: ChangeReview | None = None
    """A model's review of a change that passed these runs."""
    seconds: float = 0.0
    not_verified: tuple[str, ...] = ()
