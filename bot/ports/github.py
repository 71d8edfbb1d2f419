"""The calls we make to GitHub, by what needs them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from bot.domain.github import (
    BranchCommit,
    BranchRules,
    CheckRunState,
    CheckUpdate,
    CloneSource,
    CommitState,
    FailedJob,
    HookDelivery,
    InstallationRef,
    PullRequestFile,
    PullRequestState,
    StatusState,
    Suggestion,
    WorkflowRunState,
)
from bot.domain.request import RepositoryRef
from sandbox.types import FileEdit


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

    async def release(self, repository: RepositoryRef) -> None:
        """Give back every right held for this repository; what is asked later asks for new ones. Never raises."""
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


class GitHubRuns(Protocol):
    """Runs of workflows: who set them off, and running them again. Every method may raise a GitHubError."""

    async def workflow_run(self, repository: RepositoryRef, run_id: int) -> WorkflowRunState | None:
        """A workflow run, or None."""
        ...

    async def commit_statuses(self, repository: RepositoryRef, sha: str) -> tuple[StatusState, ...]:
        """The newest commit status of each context."""
        ...

    async def rerun_failed_jobs(self, repository: RepositoryRef, run_id: int) -> None:
        """Run the failed jobs of a run again. Needs `actions:write`; raises NotPermitted without."""
        ...

    async def runs_at(self, repository: RepositoryRef, sha: str) -> tuple[WorkflowRunState, ...]:
        """The workflow runs of a commit, newest first."""
        ...


class GitHubUpkeep(Protocol):
    """What the life of a fix needs besides. Every method may raise a GitHubError."""

    async def open_pull_requests(self, repository: RepositoryRef) -> tuple[PullRequestState, ...]:
        """All that are open, newest first."""
        ...

    async def close_pull_request(self, repository: RepositoryRef, number: int) -> None:
        """Close it; closed already is fine."""
        ...

    async def delete_branch(self, repository: RepositoryRef, branch: str, *, expected: str) -> bool:
        """Take a branch away if it still points to `expected`; whether it is gone."""
        ...

    async def commit_on_branch(self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]) -> str:
        """One verified commit on an existing branch whose head is `commit.parent`; its SHA. Never forces.

        Raises:
            Conflict: the branch moved.
            NotPermitted: rules of the branch do not allow it.
        """
        ...

    async def pull_request_files(self, repository: RepositoryRef, number: int) -> tuple[PullRequestFile, ...]:
        """The files of a pull request."""
        ...

    async def suggest(
        self, repository: RepositoryRef, number: int, *, head_sha: str, body: str, suggestions: Sequence[Suggestion]
    ) -> int:
        """One review that comments and carries suggestion blocks; its id. Made once: found again by a marker in it."""
        ...

    async def reply_in_review(
        self, repository: RepositoryRef, number: int, comment_id: int, body: str, *, marker: str
    ) -> int:
        """An answer in a review thread, made once."""
        ...

    async def react_in_review(self, repository: RepositoryRef, comment_id: int, content: str) -> None:
        """A reaction on a review comment."""
        ...

    async def add_labels(self, repository: RepositoryRef, number: int, labels: Sequence[str]) -> None:
        """Labels on an issue or pull request; they are made when absent."""
        ...

    async def remove_label(self, repository: RepositoryRef, number: int, label: str) -> None:
        """Take a label off; absent is fine."""
        ...

    async def labels(self, repository: RepositoryRef, number: int) -> tuple[str, ...]:
        """The labels of an issue or pull request."""
        ...

    async def request_reviewers(self, repository: RepositoryRef, number: int, reviewers: Sequence[str]) -> None:
        """Ask people (logins) and teams (`org/team`) for a review; those GitHub refuses are left out."""
        ...

    async def branch_rules(self, repository: RepositoryRef, branch: str) -> BranchRules:
        """What a branch demands."""
        ...


class AppHooks(Protocol):
    """What the App knows of itself: deliveries, installations. Every method may raise a GitHubError."""

    async def deliveries(self, *, since: datetime, most: int = 1_000) -> tuple[HookDelivery, ...]:
        """Attempts to deliver since then, newest first."""
        ...

    async def delivery_payload(self, delivery_id: int) -> tuple[str, bytes]:
        """The event and the body of one attempt, as they were sent."""
        ...

    async def installations(self) -> tuple[InstallationRef, ...]:
        """Where the App is installed."""
        ...

    async def repositories(self, installation_id: int) -> tuple[RepositoryRef, ...]:
        """The repositories of an installation."""
        ...
