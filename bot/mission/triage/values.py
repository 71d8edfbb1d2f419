"""What triage measures, as values: reruns, the base commit, the merge, and what is concluded from them."""

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
"""The kinds that end a mission before any edit."""


class Rerun(Frozen):
    """One more run on the failing commit, from a fresh tree."""

    report: TestReport
    """Only what failed, and hardly any text."""
    whole: bool = False
    """The whole command, and not the failing tests alone."""
    order: TestOrder = "given"
    seed: int = 0
    fresh: bool = False
    """In a sandbox of its own, and not only on a tree put back."""


class OtherCommit(Frozen):
    """A run on another commit than the failing one: its base, or the merge of both."""

    checked: bool = False
    """Whether it says something about the failing tests."""
    report: TestReport | None = None
    note: str = ""
    files: tuple[str, ...] = ()
    """The commit's files; only filled when a missing module has to be looked for."""


class Evidence(Frozen):
    """Everything that was measured after the first run."""

    reruns: tuple[Rerun, ...] = ()
    red: TestReport | None = None
    """The first red one of them, in full, when the first run was green."""
    shuffled: tuple[Rerun, ...] = ()
    """The whole command in a random order."""
    base: OtherCommit = OtherCommit()
    merge: OtherCommit = OtherCommit()
    neighbours: tuple[str, ...] = ()
    leaves_traces: bool = False
    """The failing tests alone are red in a new sandbox, and green where something ran before."""
    files: tuple[str, ...] = ()
    """The checkout's files; only filled when a missing module has to be looked for."""


class Finding(Frozen):
    """What triage found: the facts, and what kind of failure it is."""

    facts: WorkspaceFacts
    triage: Triage
