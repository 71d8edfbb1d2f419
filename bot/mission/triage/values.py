"""Values of triage: reruns, the base commit, the merge commit and the conclusion."""

from bot.domain.diagnosis import FailureKind, Triage
from bot.domain.mission import Outcome
from sandbox.types import Frozen, TestOrder, TestReport, WorkspaceFacts

OUTCOMES = {
    FailureKind.FLAKE: Outcome.FLAKY,
    FailureKind.BASE_RED: Outcome.BASE_RED,
    FailureKind.OUTAGE: Outcome.INFRA,
    FailureKind.NOT_REPRODUCED: Outcome.NOT_REPRODUCED,
    FailureKind.NOT_BUILDABLE: Outcome.ENV_UNBUILDABLE,
    FailureKind.MERGE_ONLY: Outcome.NEEDS_HUMAN,
}
"""Kinds of failure that end a mission before any edit."""


class Rerun(Frozen):
    """A rerun of the failing commit, from a clean tree."""

    report: TestReport
    """Only the failures, and hardly any text."""
    whole: bool = False
    """The whole command, instead of the failing tests alone."""
    order: TestOrder = "given"
    seed: int = 0
    fresh: bool = False
    """In a sandbox of its own, instead of on a reverted tree."""


class OtherCommit(Frozen):
    """A run on another commit: the base, or the merge of both."""

    checked: bool = False
    """The run has results on the failing tests."""
    report: TestReport | None = None
    note: str = ""
    files: tuple[str, ...] = ()
    """The commit's files; only filled to search for a missing module."""


class Evidence(Frozen):
    """All measurements after the first run."""

    reruns: tuple[Rerun, ...] = ()
    red: TestReport | None = None
    """The first red rerun in full, if the first run was green."""
    shuffled: tuple[Rerun, ...] = ()
    """Runs of the whole command in random order."""
    base: OtherCommit = OtherCommit()
    merge: OtherCommit = OtherCommit()
    neighbours: tuple[str, ...] = ()
    leaves_traces: bool = False
    """The failing tests are red in a new sandbox, and green after an earlier run."""
    files: tuple[str, ...] = ()
    """The checkout's files; only filled to search for a missing module."""


class Finding(Frozen):
    """The result of triage: the facts and the kind of failure."""

    facts: WorkspaceFacts
    triage: Triage
