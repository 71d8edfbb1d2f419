"""The GitHub calls we make: those that read, and those that write."""

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
    IssueState,
    PullRequestFile,
    PullRequestState,
    StatusState,
    Suggestion,
    WorkflowRunState,
)
from bot.domain.request import RepositoryRef
from sandbox.types import CalledWorkflow, FileEdit


class GitHubReads(Protocol):
    """Calls that change nothing. Every method may raise a GitHubError."""

    async def permission(self, repository: RepositoryRef, login: str) -> str:
        """Return a user's permission: `admin`, `write`, `read` or `none`."""
        ...

    async def read_file(self, repository: RepositoryRef, path: str, ref: str) -> bytes | None:
        """Return the content of a file at a ref, or None."""
        ...

    async def read_called(
        self, repository: RepositoryRef, workflow: CalledWorkflow
    ) -> bytes | None:
        """Return the text of a reusable workflow of a run of this repository; None if refused.

        It may hold a token for the workflow's repository afterwards, see `release`.
        """
        ...

    async def failed_job(self, repository: RepositoryRef, job_id: int) -> FailedJob | None:
        """Return the Actions job that shares its id with a check run, or None."""
        ...

    async def job_log(self, repository: RepositoryRef, job_id: int) -> str | None:
        """Return the end of the job's log, bounded; None if there is none (yet, or any more)."""
        ...

    async def commit(self, repository: RepositoryRef, ref: str) -> CommitState:
        """Return a commit."""
        ...

    async def merge_base(self, repository: RepositoryRef, base: str, head: str) -> str | None:
        """Return the merge base of two commits, or None."""
        ...

    async def branch_head(self, repository: RepositoryRef, branch: str) -> str | None:
        """Return the head commit of a branch, or None."""
        ...

    async def check_runs(self, repository: RepositoryRef, sha: str) -> tuple[CheckRunState, ...]:
        """Return all check runs of a commit, from every page."""
        ...

    async def pull_request(self, repository: RepositoryRef, number: int) -> PullRequestState | None:
        """Return a pull request, or None if the number belongs to an issue."""
        ...

    async def pull_requests_from(
        self, repository: RepositoryRef, branch: str
    ) -> tuple[PullRequestState, ...]:
        """Return pull requests in any state from this branch of this repository, newest first."""
        ...

    async def pull_requests_at(
        self, repository: RepositoryRef, sha: str
    ) -> tuple[PullRequestState, ...]:
        """Return open pull requests with this head; of forks, only recently updated ones."""
        ...

    async def clone_source(self, repository: RepositoryRef) -> CloneSource:
        """Return the clone URL with a token that can only read this repository."""
        ...

    async def release(self, repository: RepositoryRef) -> None:
        """Revoke the tokens held for this repository; later calls create new ones. Never raises."""
        ...

    async def workflow_run(self, repository: RepositoryRef, run_id: int) -> WorkflowRunState | None:
        """Return a workflow run, or None."""
        ...

    async def commit_statuses(self, repository: RepositoryRef, sha: str) -> tuple[StatusState, ...]:
        """Return the newest commit status of each context."""
        ...

    async def runs_at(self, repository: RepositoryRef, sha: str) -> tuple[WorkflowRunState, ...]:
        """Return the workflow runs of a commit, newest first."""
        ...

    async def open_pull_requests(self, repository: RepositoryRef) -> tuple[PullRequestState, ...]:
        """Return all open pull requests, newest first."""
        ...

    async def pull_request_files(
        self, repository: RepositoryRef, number: int
    ) -> tuple[PullRequestFile, ...]:
        """Return the files of a pull request."""
        ...

    async def labels(self, repository: RepositoryRef, number: int) -> tuple[str, ...]:
        """Return the labels of an issue or pull request."""
        ...

    async def own_issue(self, repository: RepositoryRef, marker: str) -> IssueState | None:
        """Return our issue whose body contains the marker: an open one, else the newest closed."""
        ...

    async def branch_rules(self, repository: RepositoryRef, branch: str) -> BranchRules:
        """Return the requirements of a branch."""
        ...


class GitHubWrites(Protocol):
    """Calls that others can see. Every method may raise a GitHubError."""

    async def commit_on_new_branch(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """Create one commit through the API on a new branch and return its SHA.

        A branch that already holds this commit is accepted, so that the call can be repeated.

        Raises:
            Conflict: the branch exists with other content.
        """
        ...

    async def open_pull_request(
        self, repository: RepositoryRef, *, head: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequestState:
        """Open a pull request.

        Raises:
            Conflict: one already exists for this head.
        """
        ...

    async def update_pull_request(
        self,
        repository: RepositoryRef,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
    ) -> None:
        """Update the title and body."""
        ...

    async def comment(
        self,
        repository: RepositoryRef,
        number: int,
        body: str,
        *,
        marker: str,
        is_pull_request: bool = True,
    ) -> int:
        """Create a comment and return its id.

        Update our existing comment with the same `marker`. `is_pull_request` is False if the
        number is probably that of an issue.
        """
        ...

    async def react(self, repository: RepositoryRef, comment_id: int, content: str) -> None:
        """Add a reaction to a comment."""
        ...

    async def publish_check(self, repository: RepositoryRef, sha: str, update: CheckUpdate) -> int:
        """Create our check run on a commit, or update the one with the same external id.

        Return its id.
        """
        ...

    async def rerun_failed_jobs(self, repository: RepositoryRef, run_id: int) -> None:
        """Rerun the failed jobs of a run.

        Raises:
            NotPermitted: the App lacks `actions:write`.
        """
        ...

    async def close_pull_request(self, repository: RepositoryRef, number: int) -> None:
        """Close a pull request; a closed one is accepted."""
        ...

    async def delete_branch(self, repository: RepositoryRef, branch: str, *, expected: str) -> bool:
        """Delete a branch if it still points to `expected`. Return True if it no longer exists."""
        ...

    async def commit_on_branch(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """Create one verified commit on an existing branch, and return its SHA.

        The head of the branch must be `commit.parent`; the update is never forced.

        Raises:
            Conflict: the branch moved.
            NotPermitted: the branch rules do not allow it.
        """
        ...

    async def suggest(
        self,
        repository: RepositoryRef,
        number: int,
        *,
        head_sha: str,
        body: str,
        suggestions: Sequence[Suggestion],
    ) -> int:
        """Create a review with suggestion blocks and return its id.

        A repeated call finds the earlier review by a marker in its body.
        """
        ...

    async def reply_in_review(
        self, repository: RepositoryRef, number: int, comment_id: int, body: str, *, marker: str
    ) -> int:
        """Reply in a review thread, once per marker. Return the id of the reply."""
        ...

    async def react_in_review(
        self, repository: RepositoryRef, comment_id: int, content: str
    ) -> None:
        """Add a reaction to a review comment."""
        ...

    async def add_labels(
        self, repository: RepositoryRef, number: int, labels: Sequence[str]
    ) -> None:
        """Add labels to an issue or pull request; missing labels are created."""
        ...

    async def remove_label(self, repository: RepositoryRef, number: int, label: str) -> None:
        """Remove a label; a missing one is ignored."""
        ...

    async def request_reviewers(
        self, repository: RepositoryRef, number: int, reviewers: Sequence[str]
    ) -> None:
        """Request reviews from users (logins) and teams (`org/team`).

        Skip those that GitHub refuses.
        """
        ...

    async def open_issue(self, repository: RepositoryRef, *, title: str, body: str) -> int:
        """Open an issue and return its number.

        Raises:
            NotPermitted: the App lacks `issues:write`.
        """
        ...

    async def update_issue(
        self,
        repository: RepositoryRef,
        number: int,
        *,
        body: str | None = None,
        is_open: bool | None = None,
    ) -> None:
        """Change the text of an issue, close it, or open it again.

        Raises:
            NotPermitted: the App lacks `issues:write`.
        """
        ...


class GitHub(GitHubReads, GitHubWrites, Protocol):
    """All calls about a repository."""


class AppHooks(Protocol):
    """The App's own data: deliveries and installations. Every method may raise a GitHubError."""

    async def deliveries(self, *, since: datetime, most: int = 1_000) -> tuple[HookDelivery, ...]:
        """Return delivery attempts since a time, newest first."""
        ...

    async def delivery_payload(self, delivery_id: int) -> tuple[str, bytes]:
        """Return the event and the body of one delivery attempt."""
        ...

    async def installations(self) -> tuple[InstallationRef, ...]:
        """Return the installations of the App."""
        ...

    async def repositories(self, installation_id: int) -> tuple[RepositoryRef, ...]:
        """Return the repositories of an installation."""
        ...
