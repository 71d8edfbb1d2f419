"""What GitHub tells us and what we tell it, cut down to the fields we use."""

from typing import Literal

from pydantic import Field

from bot.domain.request import SHA
from sandbox.types import Frozen


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
    steps: tuple[JobStep, ...] = ()

    @property
    def red_step(self) -> JobStep | None:
        """The first step that failed; with none, the first that was cancelled."""
        failed = (step for step in self.steps if step.conclusion in {"failure", "timed_out"})
        return next(failed, None) or next((step for step in self.steps if step.conclusion == "cancelled"), None)

    @property
    def failed_step(self) -> str | None:
        """The name of the first step that failed."""
        return next((s.name for s in self.steps if s.conclusion in {"failure", "timed_out"}), None)


class CheckRunState(Frozen):
    """A check run as it stands now."""

    id: int
    name: str
    head_sha: str = Field(pattern=SHA)
    conclusion: str | None = None
    status: str = "completed"
    app_slug: str = ""
    completed_at: str = ""
    """ISO 8601; empty while it runs, or when GitHub does not say."""


class PullRequestState(Frozen):
    """A pull request as it stands now."""

    number: int
    state: str
    head_sha: str = Field(pattern=SHA)
    head_ref: str
    base_sha: str = Field(pattern=SHA)
    base_ref: str
    from_fork: bool
    """Head is in another repository, or its repository is gone."""
    head_repository_id: int | None = None
    """The repository of the head; None when it is gone."""
    author: str = ""
    url: str = ""
    body: str = ""
    labels: tuple[str, ...] = ()
    merged: bool = False
    merge_sha: str | None = Field(default=None, pattern=SHA)
    """The head merged into the base branch, as CI tests it; None when they cannot be merged, or it is not known."""
    updated_at: str = ""
    """When somebody last did something to it; ISO 8601."""


class CommitState(Frozen):
    """A commit's place in history."""

    sha: str = Field(pattern=SHA)
    parents: tuple[str, ...] = ()
    message: str = ""
    author: str = ""


class CloneSource(Frozen):
    """How to fetch a repository: URL without user information, and the header that lets us in."""

    url: str
    authorization: str = Field(repr=False)
    """Lives only as long as one fetch; never stored, logged or shown."""


class CheckAnnotation(Frozen):
    """A note at a line, shown in the diff."""

    path: str
    line: int
    level: Literal["notice", "warning", "failure"] = "notice"
    title: str = ""
    message: str


class CheckAction(Frozen):
    """A button of our check run."""

    label: str = Field(max_length=20)
    description: str = Field(max_length=40)
    identifier: str = Field(max_length=20)


class CheckUpdate(Frozen):
    """What our own check run shall show; always neutral, so it never blocks."""

    status: Literal["queued", "in_progress", "completed"]
    title: str
    summary: str
    text: str = ""
    annotations: tuple[CheckAnnotation, ...] = ()
    actions: tuple[CheckAction, ...] = Field(default=(), max_length=3)
    details_url: str | None = None
    external_id: str | None = None
    """The mission id: how we find our own check run again."""


class BranchCommit(Frozen):
    """One commit to put on a new branch."""

    branch: str
    parent: str = Field(pattern=SHA)
    message: str


class StatusState(Frozen):
    """The newest commit status of one context, as older CI leaves them."""

    context: str
    state: str
    """`success`, `failure`, `error`, `pending`."""
    updated_at: str = ""
    """ISO 8601; empty when GitHub does not say."""

    @property
    def is_red(self) -> bool:
        """Whether it failed."""
        return self.state in {"failure", "error"}

    @property
    def is_pending(self) -> bool:
        """Whether it is still to come."""
        return self.state == "pending"


class WorkflowRunState(Frozen):
    """A workflow run, and who set it off."""

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
    """A file of a pull request, with the lines that may be commented on."""

    path: str
    status: str = "modified"
    patch: str = ""
    """Unified hunks; empty when GitHub gives none (binary, or too large)."""


class Suggestion(Frozen):
    """Lines of a pull request's head, and what should stand there instead."""

    path: str
    start_line: int = Field(ge=1)
    end_line: int = Field(ge=1)
    text: str
    """The new lines; empty takes them away."""
    why: str = ""


class BranchRules(Frozen):
    """What a branch demands of a push, as far as GitHub tells."""

    needs_pull_request: bool = False
    needs_signature: bool = False
    no_update: bool = False
    names: tuple[str, ...] = ()


class HookDelivery(Frozen):
    """One attempt to deliver a webhook, as the App's own log has it."""

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
    """Where the App is installed."""

    id: int
    account: str = ""
    suspended: bool = False
    permissions: dict[str, str] = Field(default_factory=dict)
    events: tuple[str, ...] = ()
