"""Every seam of the bot as a protocol: what a step needs from outside is passed in as one of these."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol, TypeVar

from pydantic import BaseModel

from bot.domain.delivery import Receipt
from bot.domain.diagnosis import Diagnosis
from bot.domain.github import (
    BranchCommit,
    CheckRunState,
    CheckUpdate,
    CloneSource,
    CommitState,
    FailedJob,
    PullRequestState,
)
from bot.domain.lesson import Forecast, Lesson, RecalledLesson
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.domain.request import Feedback, Ignored, MissionRequest, RepositoryRef
from sandbox.types import (
    Checkout,
    CommandResult,
    EditProposal,
    FileChange,
    FileContext,
    FileEdit,
    ProposalRequest,
    SearchRequest,
    TestOrder,
    TestReport,
    TrialEvent,
    WorkspaceFacts,
)

Value = TypeVar("Value", bound=BaseModel)


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
    ) -> TestReport:
        """The recipe's command (or another), read into structured failures.

        Args:
            command: Instead of the recipe's.
            targets: Test names that replace the command's own selection.
            order: `random` shuffles by the seed.
            seed: Also seeds Python's hashing, so that two runs with one seed are alike.
            maxfail: Stop after so many failures.
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
        """Back to the checked-out commit, byte for byte."""
        ...

    def search(self, request: SearchRequest) -> AsyncIterator[TrialEvent]:
        """Search-based repair inside the sandbox; the last event is TrialDone."""
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

    def propose(
        self, context: MissionContext, diagnosis: Diagnosis, workspace: Workspace, budget: FixBudget
    ) -> AsyncIterator[Candidate | RungNote]:
        """Candidates, best first, within the budget; a note says why there are none. Leaves the workspace as found."""
        ...


class GitHub(Protocol):
    """The calls we make. Every method may raise a GitHubError."""

    async def permission(self, repository: RepositoryRef, login: str) -> str:
        """`admin`, `write`, `read` or `none`."""
        ...

    async def read_file(self, repository: RepositoryRef, path: str, ref: str) -> bytes | None:
        """A file at a ref, or None."""
        ...

    async def failed_job(self, repository: RepositoryRef, job_id: int) -> FailedJob | None:
        """The Actions job with the id of its check run, or None."""
        ...

    async def job_log(self, repository: RepositoryRef, job_id: int) -> str | None:
        """The job's log, bounded; None when there is none (yet, or any more)."""
        ...

    async def commit(self, repository: RepositoryRef, ref: str) -> CommitState:
        """A commit."""
        ...

    async def merge_base(self, repository: RepositoryRef, base: str, head: str) -> str | None:
        """The commit where head left base."""
        ...

    async def branch_head(self, repository: RepositoryRef, branch: str) -> str | None:
        """The commit a branch points to, or None."""
        ...

    async def check_runs(self, repository: RepositoryRef, sha: str) -> tuple[CheckRunState, ...]:
        """All check runs of a commit, every page."""
        ...

    async def pull_request(self, repository: RepositoryRef, number: int) -> PullRequestState | None:
        """A pull request, or None when the number is an issue's."""
        ...

    async def pull_requests_from(self, repository: RepositoryRef, branch: str) -> tuple[PullRequestState, ...]:
        """Pull requests of any state whose head is this branch of this repository, newest first."""
        ...

    async def pull_requests_at(self, repository: RepositoryRef, sha: str) -> tuple[PullRequestState, ...]:
        """Open pull requests whose head is this commit."""
        ...

    async def clone_source(self, repository: RepositoryRef) -> CloneSource:
        """Where to fetch, with a token scoped to reading this repository."""
        ...

    async def commit_on_new_branch(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """One commit by the API on a branch that must not exist (or already hold this very commit); its SHA.

        Raises:
            Conflict: the branch exists and holds something else.
        """
        ...

    async def open_pull_request(
        self, repository: RepositoryRef, *, head: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequestState:
        """Open it. Raises Conflict when one exists for this head."""
        ...

    async def update_pull_request(
        self, repository: RepositoryRef, number: int, *, title: str | None = None, body: str | None = None
    ) -> None:
        """Change its words."""
        ...

    async def comment(self, repository: RepositoryRef, number: int, body: str, *, marker: str) -> int:
        """A comment, made once: one of ours that carries `marker` is found again and updated instead."""
        ...

    async def react(self, repository: RepositoryRef, comment_id: int, content: str) -> None:
        """A reaction on a comment."""
        ...

    async def publish_check(self, repository: RepositoryRef, sha: str, update: CheckUpdate) -> int:
        """Our own check run on a commit: found by its external id, made when absent, else updated."""
        ...


class Recall(Protocol):
    """Lessons, read side."""

    async def recall(
        self, *, repository_id: str, fingerprint: str, error: str | None, words: Sequence[str], limit: int = 5
    ) -> tuple[RecalledLesson, ...]:
        """Lessons that bear on a failure, best first."""
        ...

    async def template_record(self, *, repository_id: str, error: str | None) -> dict[str, tuple[int, int]]:
        """Per template: how often it won, and how often that was rejected later."""
        ...

    async def forecasts(self, *, repository_id: str) -> tuple[Forecast, ...]:
        """Every confidence shown whose fate is known: what calibrates the next one."""
        ...


class LessonStore(Recall, Protocol):
    """Lessons, write side."""

    async def remember(self, lesson: Lesson) -> None:
        """Keep a lesson; the same id again replaces it."""
        ...

    async def feed_back(self, feedback: Feedback) -> int:
        """Record what became of a pull request; how many lessons that touched."""
        ...


class MissionQueue(Protocol):
    """Where missions wait; survives a restart."""

    async def submit(self, request: MissionRequest) -> bool:
        """Put a mission in line; False when the same mission id is there already."""
        ...

    async def feed_back(self, feedback: Feedback) -> None:
        """Put a verdict of a human in line."""
        ...

    async def cancel(self, mission_id: str) -> None:
        """Stop a mission, waiting or running."""
        ...

    async def status(self, mission_id: str) -> str | None:
        """`waiting`, `running`, `done`, `failed`, `cancelled`, or None."""
        ...


class DeliveryInbox(Protocol):
    """Where deliveries are written down before they are answered."""

    async def accept(
        self, delivery: str, event: str, action: str | None, decision: MissionRequest | Feedback | Ignored
    ) -> Receipt:
        """Write it down, durably, and say what becomes of it. Raises QueueError when that cannot be done now."""
        ...


class Checkpoint(Protocol):
    """Runs a stage once and remembers its value: in memory, or durably by the engine."""

    async def step(self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]) -> Value:
        """The remembered value of this step, or the value of calling it now. Names are stable and unique."""
        ...


class Progress(Protocol):
    """Tells somebody how far a mission is."""

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        """A stage begins. Never raises: progress must not break a mission."""
        ...


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """The wall clock, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...
