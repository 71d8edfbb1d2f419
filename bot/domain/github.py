"""Values exchanged with GitHub, reduced to the fields we use."""

from typing import Literal

from pydantic import Field

from bot.domain.request import SHA
from sandbox.types import CalledWorkflow, Frozen


class JobStep(Frozen):
    """One step of an Actions job."""

    name: str
    number: int
    conclusion: str | None = None
    started_at: str | None = None
    """`2026-07-30T19:16:42Z`"""
    completed_at: str | None = None


class FailedJob(Frozen):
    """The Actions job behind a red check run."""

    id: int
    name: str
    run_id: int
    workflow_path: str | None = None
    """`.github/workflows/ci.yml`"""
    called: tuple[CalledWorkflow, ...] = ()
    """The reusable workflows of the whole run, without their texts."""
    steps: tuple[JobStep, ...] = ()

    @property
    def red_step(self) -> JobStep | None:
        """Return the first failed step; without one, the first cancelled step."""
        failed = (step for step in self.steps if step.conclusion in {"failure", "timed_out"})
        return next(failed, None) or next(
            (step for step in self.steps if step.conclusion == "cancelled"), None
        )

    @property
    def failed_step(self) -> str | None:
        """Return the name of the first failed step."""
        return next((s.name for s in self.steps if s.conclusion in {"failure", "timed_out"}), None)


class CheckRunState(Frozen):
    """The current state of a check run."""

    id: int
    name: str
    head_sha: str = Field(pattern=SHA)
    conclusion: str | None = None
    status: str = "completed"
    app_slug: str = ""
    completed_at: str = ""
    """ISO 8601; empty while it runs or when GitHub gives none."""


class PullRequestState(Frozen):
    """The current state of a pull request."""

    number: int
    state: str
    head_sha: str = Field(pattern=SHA)
    head_ref: str
    base_sha: str = Field(pattern=SHA)
    base_ref: str
    from_fork: bool
    """The head is in another repository, or its repository was deleted."""
    head_repository_id: int | None = None
    """The repository of the head; None when it was deleted."""
    author: str = ""
    url: str = ""
    body: str = ""
    labels: tuple[str, ...] = ()
    merged: bool = False
    merge_sha: str | None = Field(default=None, pattern=SHA)
    """The test merge of head and base that CI runs on; None when not mergeable or not yet known."""
    updated_at: str = ""
    """Time of the last activity; ISO 8601."""


class IssueState(Frozen):
    """The current state of an issue of ours."""

    number: int
    is_open: bool = True
    body: str = ""


class CommitState(Frozen):
    """A commit and its parents."""

    sha: str = Field(pattern=SHA)
    parents: tuple[str, ...] = ()
    message: str = ""
    author: str = ""


class CloneSource(Frozen):
    """A repository URL without user information, and its authorization header."""

    url: str
    authorization: str = Field(repr=False)
    """Valid for one fetch; never stored, logged or shown."""


CHECK_NAME = "MetaAgent"
"""The name of our check run about a mission or a command."""
POLICY_CHECK_NAME = "MetaAgent policy"
"""The name of our check run about a changed policy file. GitHub shows the newest run of a name
only, so it needs its own."""


class CheckAnnotation(Frozen):
    """A note on one line of the diff."""

    path: str
    line: int
    level: Literal["notice", "warning", "failure"] = "notice"
    title: str = ""
    message: str


class CheckAction(Frozen):
    """A button of our check run, with GitHub's limits."""

    label: str = Field(max_length=20)
    description: str = Field(max_length=40)
    identifier: str = Field(max_length=20)


class CheckUpdate(Frozen):
    """The content of our own check run; always neutral, so it never blocks."""

    status: Literal["queued", "in_progress", "completed"]
    name: str = CHECK_NAME
    title: str
    summary: str
    text: str = ""
    annotations: tuple[CheckAnnotation, ...] = ()
    actions: tuple[CheckAction, ...] = Field(default=(), max_length=3)
    details_url: str | None = None
    external_id: str | None = None
    """The mission id; used with the name to find our own check run again."""


class BranchCommit(Frozen):
    """A commit to create on a new branch."""

    branch: str
    parent: str = Field(pattern=SHA)
    message: str


class StatusState(Frozen):
    """The newest commit status of one context, as older CI systems set them."""

    context: str
    state: str
    """`success`, `failure`, `error`, `pending`."""
    updated_at: str = ""
    """ISO 8601; empty when GitHub gives none."""

    @property
    def is_red(self) -> bool:
        """Return True if the status is a failure."""
        return self.state in {"failure", "error"}

    @property
    def is_pending(self) -> bool:
        """Return True if the status is pending."""
        return self.state == "pending"


class WorkflowRunState(Frozen):
    """A workflow run and its actors."""

    id: int
    name: str = ""
    event: str = ""
    """`push`, `pull_request`."""
    head_sha: str = Field(pattern=SHA)
    head_branch: str | None = None
    from_fork: bool = False
    status: str = "completed"
    conclusion: str | None = None
    path: str | None = None
    actor: str = ""
    triggering_actor: str = ""
    run_attempt: int = 1


class PullRequestFile(Frozen):
    """A file of a pull request and its diff."""

    path: str
    status: str = "modified"
    patch: str = ""
    """Unified hunks; empty when GitHub gives none (binary or too large)."""


class Suggestion(Frozen):
    """A replacement for a range of lines at a pull request's head."""

    path: str
    start_line: int = Field(ge=1)
    end_line: int = Field(ge=1)
    text: str
    """The new lines; empty deletes the range."""
    why: str = ""


class BranchRules(Frozen):
    """The requirements of a branch for pushes, as far as GitHub reports them."""

    needs_pull_request: bool = False
    needs_signature: bool = False
    no_update: bool = False
    names: tuple[str, ...] = ()


class HookDelivery(Frozen):
    """One delivery attempt of a webhook, from the App's delivery log."""

    id: int
    guid: str
    event: str
    action: str | None = None
    delivered_at: str
    """ISO 8601."""
    status_code: int = 0
    redelivery: bool = False
    repository_id: int | None = None
    installation_id: int | None = None


class InstallationRef(Frozen):
    """An installation of the App."""

    id: int
    account: str = ""
    suspended: bool = False
    permissions: dict[str, str] = Field(default_factory=dict)
    events: tuple[str, ...] = ()
