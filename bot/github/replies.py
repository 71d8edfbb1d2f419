"""The fields we read from GitHub's responses."""

import re
from typing import Any

from pydantic import Field

from bot.domain.github import (
    CheckRunState,
    CommitState,
    IssueState,
    JobStep,
    PullRequestState,
    WorkflowRunState,
)
from bot.domain.request import SHA
from bot.github.events import App, GitHubAccount, Id, Side, SideRepository, Slim
from bot.github.referenced import MOST_REFERENCED, ReferencedWorkflow
from sandbox.types import CalledWorkflow


class PermissionReply(Slim):
    """A collaborator's permission."""

    permission: str


class ContentReply(Slim):
    """A file."""

    type: str
    encoding: str | None = None
    content: str | None = None


class JobStepReply(Slim):
    """A step of a job."""

    name: str
    number: int
    conclusion: str | None = None
    started_at: str | None = None
    completed_at: str | None = None

    def state(self) -> JobStep:
        """Return the step as a domain value."""
        return JobStep(
            name=self.name,
            number=self.number,
            conclusion=self.conclusion,
            started_at=self.started_at,
            completed_at=self.completed_at,
        )


class JobReply(Slim):
    """An Actions job."""

    id: Id
    name: str
    run_id: Id
    steps: tuple[JobStepReply, ...] | None = None


class RunFile(Slim):
    """The files of a run's workflows."""

    path: str | None = None
    referenced_workflows: tuple[ReferencedWorkflow, ...] | None = None

    @property
    def workflow_path(self) -> str | None:
        """Return the workflow's file; a reusable workflow's path ends in `@ref`."""
        return self.path.partition("@")[0] if self.path else None

    @property
    def called(self) -> tuple[CalledWorkflow, ...]:
        """Return the run's reusable workflows; more than GitHub allows are omitted."""
        found = (one.called() for one in (self.referenced_workflows or ())[:MOST_REFERENCED])
        return tuple(one for one in found if one is not None)


class RunReply(RunFile):
    """A workflow run."""

    id: Id
    name: str | None = None
    event: str = ""
    head_sha: str = Field(pattern=SHA)
    head_branch: str | None = None
    head_repository: SideRepository | None = None
    status: str | None = None
    conclusion: str | None = None
    actor: GitHubAccount | None = None
    triggering_actor: GitHubAccount | None = None
    run_attempt: int | None = None

    def state(self, repository_id: int) -> WorkflowRunState:
        """Return the run as a domain value."""
        return WorkflowRunState(
            id=self.id,
            name=self.name or "",
            event=self.event,
            head_sha=self.head_sha,
            head_branch=self.head_branch,
            # Null for a deleted fork. Names prove nothing: a fork's branch may be called `main`.
            from_fork=self.head_repository is None or self.head_repository.id != repository_id,
            status=self.status or "completed",
            conclusion=self.conclusion,
            path=self.workflow_path,
            actor=self.actor.login if self.actor else "",
            triggering_actor=self.triggering_actor.login if self.triggering_actor else "",
            run_attempt=self.run_attempt or 1,
        )


class RunsReply(Slim):
    """A page of workflow runs."""

    workflow_runs: tuple[RunReply, ...]


class StatusReply(Slim):
    """A commit status."""

    context: str
    state: str
    updated_at: str = ""


class StatusesReply(Slim):
    """A page of the newest status of every context."""

    statuses: tuple[StatusReply, ...]


class Person(Slim):
    """The author of a commit, as recorded by git."""

    name: str | None = None


class CommitDetail(Slim):
    """Message and author of a commit."""

    message: str = ""
    author: Person | None = None


class Parent(Slim):
    """A parent commit."""

    sha: str = Field(pattern=SHA)


class CommitFile(Slim):
    """A file changed by a commit or a pull request."""

    filename: str
    previous_filename: str | None = None
    status: str = "modified"
    sha: str | None = None
    patch: str | None = None


class CommitReply(Slim):
    """A commit."""

    sha: str = Field(pattern=SHA)
    commit: CommitDetail
    # GitHub sends `{}` or null for an author without an account.
    author: GitHubAccount | dict[str, Any] | None = None
    parents: tuple[Parent, ...] = ()
    files: tuple[CommitFile, ...] | None = None

    def state(self) -> CommitState:
        """Return the commit as a domain value."""
        person = self.commit.author.name if self.commit.author else None
        login = self.author.login if isinstance(self.author, GitHubAccount) else None
        return CommitState(
            sha=self.sha,
            parents=tuple(p.sha for p in self.parents),
            message=self.commit.message,
            author=login or person or "",
        )


class GitObject(Slim):
    """The target of a ref, or the tree of a commit."""

    sha: str = Field(pattern=SHA)


class RefReply(Slim):
    """A ref."""

    object: GitObject


class SignatureReply(Slim):
    """GitHub's verdict on a commit signature."""

    verified: bool = False


class GitCommitReply(Slim):
    """A commit as a git object."""

    sha: str = Field(pattern=SHA)
    tree: GitObject
    parents: tuple[Parent, ...] = ()
    verification: SignatureReply = SignatureReply()


class CompareReply(Slim):
    """A comparison of two commits."""

    merge_base_commit: GitObject | None = None


class CheckOutputReply(Slim):
    """The output of a check run."""

    annotations_count: int = 0


class CheckRunReply(Slim):
    """A check run."""

    id: Id
    name: str
    head_sha: str = Field(pattern=SHA)
    status: str = "completed"
    conclusion: str | None = None
    external_id: str | None = None
    completed_at: str | None = None
    app: App | None = None
    output: CheckOutputReply | None = None

    def state(self) -> CheckRunState:
        """Return the check run as a domain value."""
        return CheckRunState(
            id=self.id,
            name=self.name,
            head_sha=self.head_sha,
            status=self.status,
            conclusion=self.conclusion,
            app_slug=(self.app.slug if self.app else None) or "",
            completed_at=self.completed_at or "",
        )


class CheckRunsReply(Slim):
    """A page of check runs."""

    check_runs: tuple[CheckRunReply, ...]


class LabelReply(Slim):
    """A label."""

    name: str


class PullReply(Slim):
    """A pull request."""

    number: Id
    state: str
    head: Side
    base: Side
    user: GitHubAccount | None = None
    html_url: str = ""
    body: str | None = None
    merge_commit_sha: str | None = None
    merged_at: str | None = None
    updated_at: str | None = None
    labels: tuple[LabelReply, ...] | None = None

    def pull_request(self, repository_id: int) -> PullRequestState:
        """Return the pull request as a domain value."""
        elsewhere = self.head.repo is None or self.head.repo.id != repository_id
        return PullRequestState(
            number=self.number,
            state=self.state,
            head_sha=self.head.sha,
            head_ref=self.head.ref,
            base_sha=self.base.sha,
            base_ref=self.base.ref,
            from_fork=elsewhere,
            head_repository_id=self.head.repo.id if self.head.repo is not None else None,
            author=self.user.login if self.user else "",
            url=self.html_url,
            body=self.body or "",
            labels=tuple(label.name for label in self.labels or ()),
            merged=self.merged_at is not None,
            # GitHub's test merge while it is open; the merged commit afterwards.
            merge_sha=self.merge_commit_sha
            if self.state == "open" and _is_sha(self.merge_commit_sha)
            else None,
            updated_at=self.updated_at or "",
        )


def _is_sha(text: str | None) -> bool:
    return text is not None and re.fullmatch(r"[0-9a-f]{40}", text) is not None


class CommentReply(Slim):
    """A comment."""

    id: Id
    body: str | None = None
    user: GitHubAccount | None = None
    performed_via_github_app: App | None = None


class IssueReply(Slim):
    """An issue, or a pull request in its issue form, which then has `pull_request`."""

    number: Id
    state: str = "open"
    body: str | None = None
    user: GitHubAccount | None = None
    pull_request: dict[str, Any] | None = None

    def issue(self) -> IssueState:
        """Return the issue as a domain value."""
        return IssueState(number=self.number, is_open=self.state == "open", body=self.body or "")


class ReviewReply(Slim):
    """A review."""

    id: Id
    body: str | None = None
    user: GitHubAccount | None = None


class ReviewCommentReply(Slim):
    """A comment in a review thread."""

    id: Id
    body: str | None = None
    user: GitHubAccount | None = None
    in_reply_to_id: Id | None = None


class RuleReply(Slim):
    """A rule for a branch."""

    type: str


class GraphQLError(Slim):
    """An error in a GraphQL response."""

    message: str = ""
    type: str | None = None
    extensions: dict[str, Any] = Field(default_factory=dict)


class GraphQLReply(Slim):
    """A GraphQL response."""

    data: dict[str, Any] | None = None
    errors: tuple[GraphQLError, ...] | None = None


class ErrorReply(Slim):
    """The body of an error response."""

    message: str = ""
    errors: tuple[Any, ...] = ()

    def text(self) -> str:
        """Return the whole message in one line."""
        parts = [self.message, *(_error_text(error) for error in self.errors)]
        return "; ".join(p for p in parts if p)[:500]


def _error_text(error: Any) -> str:
    if isinstance(error, dict):
        return str(error.get("message") or error.get("code") or "")
    return str(error)
