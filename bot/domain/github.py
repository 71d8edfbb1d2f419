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
    author: str = ""
    url: str = ""
    body: str = ""
    merge_sha: str | None = Field(default=None, pattern=SHA)
    """The head merged into the base branch, as CI tests it; None when they cannot be merged, or it is not known."""


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


class CheckUpdate(Frozen):
    """What our own check run shall show; always neutral, so it never blocks."""

    status: Literal["queued", "in_progress", "completed"]
    title: str
    summary: str
    text: str = ""
    annotations: tuple[CheckAnnotation, ...] = ()
    details_url: str | None = None
    external_id: str | None = None
    """The mission id: how we find our own check run again."""


class BranchCommit(Frozen):
    """One commit to put on a new branch."""

    branch: str
    parent: str = Field(pattern=SHA)
    message: str
