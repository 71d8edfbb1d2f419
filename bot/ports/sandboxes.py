"""What runs code: workspaces, and whoever proposes a change in one."""

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
    """One checkout in one sandbox. Opened by its first use; every method may raise a SandboxError."""

    async def facts(self) -> WorkspaceFacts:
        """What it stands on."""
        ...

    async def run(self, command: str, *, timeout_s: float | None = None) -> CommandResult:
        """A shell command line in the recipe's working directory, the environment's programs first in PATH."""
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
        """The recipe's command (or another), read into structured failures.

        Args:
            command: Instead of the recipe's.
            targets: Test names that replace the command's own selection.
            order: `random` shuffles by the seed.
            seed: Also seeds Python's hashing, so that two runs with one seed are alike.
            maxfail: Stop after so many failures.
            confirm: Believe passing tests only after known-answer copies of them gave the right answers.
        """
        ...

    async def read_file(self, path: str) -> str | None:
        """A text file of the checkout, bounded; None when there is none."""
        ...

    async def read_file_context(self, path: str, line: int, *, around: int = 6) -> FileContext:
        """Source around a line."""
        ...

    async def list_files(self) -> tuple[str, ...]:
        """The checkout's files."""
        ...

    async def archive(self) -> bytes:
        """The checked-out commit as a tar archive of regular files, within the import's limits."""
        ...

    async def apply_changes(self, changes: Sequence[FileChange]) -> tuple[str, ...]:
        """Edit the checkout; all or nothing. Raises ChangeRejected."""
        ...

    async def changes(self) -> tuple[FileEdit, ...]:
        """What differs from the checked-out commit."""
        ...

    async def diff(self) -> str:
        """The same as a unified diff that `git apply` accepts."""
        ...

    async def revert(self) -> None:
        """Back to the checked-out commit, byte for byte; for a fixer, to the tree it was given."""
        ...

    def search(self, request: SearchRequest) -> AsyncIterator[TrialEvent]:
        """Search-based repair inside the sandbox; the last event is TrialDone."""
        ...

    async def send(self, errand: Errand, door: Door) -> Returned:
        """Send a program into another sandbox on the same tree, with a door outward; nothing changes here."""
        ...

    async def proposals(self, request: ProposalRequest) -> tuple[EditProposal, ...]:
        """Edits that may make findings of a linter or type checker go away; nothing is changed, nobody tried them."""
        ...


class OpenWorkspace(Protocol):
    """Opens workspaces."""

    def __call__(self, checkout: Checkout) -> AbstractAsyncContextManager[Workspace]:
        """A workspace on a checkout, closed with the context."""
        ...


class Fixer(Protocol):
    """Something that can propose a change."""

    @property
    def name(self) -> str:
        """`ruff`, `search`."""
        ...

    @property
    def rung(self) -> Rung:
        """Where on the ladder it stands."""
        ...

    def applies(self, report: TestReport) -> bool:
        """Return whether this fixer can do anything about such a red run; the only place that decides it."""
        ...

    def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        """Candidates, best first, within the budget; a note says why there are none. Leaves the workspace as found."""
        ...
