"""What one event comes down to: MissionRequest, Feedback or Ignored."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from sandbox.types import Frozen, TrustTier

SHA = r"^[0-9a-f]{40}$"


class RepositoryRef(Frozen):
    """A repository as GitHub knows it; state is keyed by `id`, names change."""

    id: int
    owner: str
    name: str
    installation_id: int | None = None
    default_branch: str = "main"
    private: bool = False

    @property
    def full_name(self) -> str:
        """`owner/name`."""
        return f"{self.owner}/{self.name}"


class Trigger(StrEnum):
    """What asked for the mission."""

    CHECK_RUN = "check_run"
    COMMENT = "comment"
    COMMAND_LINE = "command_line"


class CheckRef(Frozen):
    """The red check."""

    id: int
    name: str
    app_slug: str = ""
    conclusion: str = "failure"
    details_url: str | None = None

    @property
    def is_actions_job(self) -> bool:
        """GitHub Actions makes check run and job with the same id."""
        return self.app_slug == "github-actions"


class CommentRef(Frozen):
    """The comment that gave a command."""

    id: int
    author: str
    number: int
    """Issue or pull request it stands in."""


class MissionRequest(Frozen):
    """Somebody or something asks for a mission. Exactly one of `repository` and `folder` is given."""

    mission_id: str
    """Deterministic: the same failure asked for twice has the same id."""
    trigger: Trigger
    repository: RepositoryRef | None = None
    head_sha: str | None = Field(default=None, pattern=SHA)
    head_branch: str | None = None
    check: CheckRef | None = None
    pull_request: int | None = None
    comment: CommentRef | None = None
    tier: TrustTier = TrustTier.BRANCH
    delivery_id: str | None = None
    requested_by: str | None = None
    folder: str | None = None
    """A red working tree on this host (command line only)."""
    command: str | None = None
    """An explicit test command."""
    since: str | None = None
    """The revision a folder was green at; None chooses one."""
    seed: int = 0
    time_limit_s: float | None = None
    rungs: tuple[int, ...] = (0, 1)

    @property
    def memory_key(self) -> str:
        """Under which lessons are kept and recalled: a repository never sees another's, nor what its forks brought."""
        if self.repository is None:
            return f"local:{self.folder}"
        return f"{self.repository.id}:fork" if self.tier is TrustTier.FORK else str(self.repository.id)


class Feedback(Frozen):
    """What became of something we proposed."""

    kind: Literal["feedback"] = "feedback"
    repository: RepositoryRef
    pull_request: int
    merged: bool
    branch: str
    delivery_id: str | None = None


class Ignored(Frozen):
    """Not for us; the reason is logged and testable."""

    kind: Literal["ignored"] = "ignored"
    reason: str
