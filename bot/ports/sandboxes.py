"""Workspaces, which run code, and fixers, which propose changes."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from sandbox.types import (
    Checkout,
    CommandResult,
    Door,
    EditProposal,
    Errand,
    FileChange,
    FileContext,
    FileEdit,
    ProposalRequest,
    Returned,
    SearchRequest,
    TestOrder,
    TestReport,
    TrialEvent,
    WorkspaceFacts,
)


class Workspace(Protocol):
    """One checkout in one sandbox, opened on first use. Every method may raise a SandboxError."""

    async def facts(self) -> WorkspaceFacts:
        """Return the properties of the environment."""
        ...

    async def run(self, command: str, *, timeout_s: float | None = None) -> CommandResult:
        """Run a shell command in the recipe's working directory.

        The programs of the environment come first in PATH.
        """
        ...

    async def run_tests(
        self,
        command: str | None = None,
        *,
        targets: tuple[str, ...] = (),
        order: TestOrder = "given",
        seed: int = 0,
        maxfail: int | None = None,
        confirm: bool = False,
    ) -> TestReport:
        """Run the recipe's command (or another one) and return its failures.

        Args:
            command: Replaces the recipe's command.
            targets: Test names that replace the command's own selection.
            order: `random` shuffles by the seed.
            seed: Also seeds Python's hashing, so that runs with the same seed are alike.
            maxfail: Number of failures to stop after.
            confirm: Also run known-answer copies of passed tests: of all targets, or of a sample.
                A copy with a wrong answer makes the report no success.
        """
        ...

    async def read_file(self, path: str) -> str | None:
        """Return a text file of the checkout, bounded; None if it is missing."""
        ...

    async def read_file_context(self, path: str, line: int, *, around: int = 6) -> FileContext:
        """Return the source around a line."""
        ...

    async def list_files(self) -> tuple[str, ...]:
        """Return the files of the checkout."""
        ...

    async def archive(self) -> bytes:
        """Return the commit's regular files as a tar archive, within the import limits."""
        ...

    async def apply_changes(self, changes: Sequence[FileChange]) -> tuple[str, ...]:
        """Apply edits to the checkout, all or none.

        Returns:
            The changed paths.

        Raises:
            ChangeRejected: an edit was refused.
        """
        ...

    async def changes(self) -> tuple[FileEdit, ...]:
        """Return the differences from the checked-out commit."""
        ...

    async def diff(self) -> str:
        """Return the differences as a unified diff that `git apply` accepts."""
        ...

    async def revert(self) -> None:
        """Restore the checked-out commit byte for byte; for a fixer, the tree it was given."""
        ...

    def search(self, request: SearchRequest) -> AsyncIterator[TrialEvent]:
        """Run the search-based repair inside the sandbox; the last event is TrialDone."""
        ...

    async def send(self, errand: Errand, door: Door) -> Returned:
        """Run a program in another sandbox on the same tree, with a door to the outside.

        This checkout does not change.
        """
        ...

    async def proposals(self, request: ProposalRequest) -> tuple[EditProposal, ...]:
        """Return untested edits for findings of a linter or type checker; nothing is changed."""
        ...


class OpenWorkspace(Protocol):
    """A factory of workspaces."""

    def __call__(self, checkout: Checkout) -> AbstractAsyncContextManager[Workspace]:
        """Open a workspace on a checkout; it is closed with the context."""
        ...


class Fixer(Protocol):
    """A source of candidate changes."""

    @property
    def name(self) -> str:
        """Return the name: `ruff`, `search`."""
        ...

    @property
    def rung(self) -> Rung:
        """Return the rung of the ladder."""
        ...

    def applies(self, report: TestReport) -> bool:
        """Return True if this fixer can repair such a red run; the only place that decides it."""
        ...

    def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        """Yield candidates, best first, within the budget, then a note if there are none.

        The workspace is left as it was found.
        """
        ...
