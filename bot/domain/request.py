"""Values parsed from events: RedHead, MissionRequest, Feedback, HeadMoved and others."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from sandbox.types import Frozen, TrustTier

SHA = r"^[0-9a-f]{40}$"


class RepositoryRef(Frozen):
    """A GitHub repository. State is keyed by `id`, because names change."""

    id: int
    """Below 1 when only the name is known."""
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
    """The source of a mission request."""

    CHECK_RUN = "check_run"
    """A red check, from any event type."""
    COMMENT = "comment"
    """A person, by comment, button or label."""
    SCHEDULE = "schedule"
    """The recovery sweep, or the repository's own schedule."""
    ACTION = "action"
    """A workflow step."""
    COMMAND_LINE = "command_line"


class Depth(StrEnum):
    """The last stage of a mission."""

    FIX = "fix"
    EXPLAIN = "explain"
    """Ends with the diagnosis; nothing is changed."""
    REPRODUCE = "reproduce"
    """Ends once the failure is reproduced and distinguished from a flake or an outage."""


class CheckRef(Frozen):
    """A red check."""

    id: int
    """0 for a commit status, which has no check id."""
    name: str
    app_slug: str = ""
    conclusion: str = "failure"
    details_url: str | None = None

    @property
    def is_actions_job(self) -> bool:
        """Return True for a job of GitHub Actions, whose check run has the same id."""
        return self.app_slug == "github-actions"

    @property
    def is_status(self) -> bool:
        """Return True if this is a commit status instead of a check run."""
        return self.id == 0


class CommentRef(Frozen):
    """The comment that contained a command."""

    id: int
    author: str
    number: int
    """The issue or pull request of the comment."""
    in_review: bool = False
    """True for a comment in a review thread, which has its own API for reactions and replies."""


class Answer(Frozen):
    """A person's answer to our question."""

    proposal_id: str
    choice: int | None = Field(default=None, ge=1)
    """Number of the chosen change, from 1; None for a text answer."""
    text: str = Field(default="", max_length=4_000)


class MissionRequest(Frozen):
    """A request for a mission. Exactly one of `repository` and `folder` is set."""

    mission_id: str
    """Deterministic: requests for the same failure share an id."""
    trigger: Trigger
    repository: RepositoryRef | None = None
    head_sha: str | None = Field(default=None, pattern=SHA)
    head_branch: str | None = None
    check: CheckRef | None = None
    """The check to repair."""
    also_red: tuple[CheckRef, ...] = ()
    """Other red checks of the same head; one mission covers all of them."""
    pull_request: int | None = None
    comment: CommentRef | None = None
    tier: TrustTier = TrustTier.BRANCH
    delivery_id: str | None = None
    requested_by: str | None = None
    actors: tuple[str, ...] = ()
    """The actor and triggering actor of the red run; a rerun has another triggering actor."""
    depth: Depth = Depth.FIX
    answer: Answer | None = None
    """Continues a mission that asked a question."""
    hint: str = Field(default="", max_length=4_000)
    """A person's hint where to look; the files named, with or without a line, become suspects."""
    supersedes: str | None = None
    """The mission on an older commit of the same branch that a push ended."""
    folder: str | None = None
    """A red working tree on this host (command line only)."""
    command: str | None = None
    """An explicit test command."""
    since: str | None = None
    """The revision at which the folder was green; None selects one automatically."""
    seed: int = 0
    time_limit_s: float | None = None
    rungs: tuple[int, ...] = (0, 1, 2)
    improve: str | None = None
    """The file or folder to improve, empty for the whole repository; None repairs a failure."""
    staged: bool = False
    """Writes nothing but our check run, whatever the policy's mode."""
    continuous: bool = False
    """Requested by the policy's `continuous`, which also says how many missions may follow each
    other."""

    @property
    def place(self) -> str:
        """Return the repository's full name, or the folder."""
        return self.repository.full_name if self.repository else self.folder or ""

    @property
    def memory_key(self) -> str:
        """Return the key for lessons; repositories, and their forks, never share lessons."""
        if self.repository is None:
            return f"local:{self.folder}"
        return (
            f"{self.repository.id}:fork" if self.tier is TrustTier.FORK else str(self.repository.id)
        )


IMPROVES = ":improve:"
"""Part of the ids of all missions that improve code."""


def improvement_id(repository_id: int, name: str) -> str:
    """Return the id of a mission that improves code."""
    return f"mission:{repository_id}{IMPROVES}{name}"


def is_improvement(mission_id: str) -> bool:
    """Return True for the id of a mission that improves code."""
    return IMPROVES in mission_id


class RedHead(Frozen):
    """A commit with a red check. All its red checks become one mission once they have settled."""

    kind: Literal["red_head"] = "red_head"
    repository: RepositoryRef
    head_sha: str = Field(pattern=SHA)
    head_branch: str | None = None
    check: CheckRef | None = None
    """The red check; None for events of a workflow run or check suite."""
    pull_request: int | None = None
    tier: TrustTier = TrustTier.BRANCH
    actors: tuple[str, ...] = ()
    """The actor and triggering actor of the red run, if the event has them."""
    workflow_run: int | None = None
    trigger: Trigger = Trigger.CHECK_RUN
    delivery_id: str | None = None
    continuous: bool = False
    """Requests a mission even if no check covers the commit, as the policy's `continuous` says."""
    again: bool = False
    """Requests the commit again although its mission ended, because its pull request was
    reopened."""

    @property
    def mission_id(self) -> str:
        """Return the id of the mission shared by all red checks of this commit."""
        mission = f"mission:{self.repository.id}:{self.head_sha}:auto"
        return f"{mission}:{self.delivery_id}" if self.again else mission


class HeadMoved(Frozen):
    """A branch was pushed to or deleted; missions on its old head are obsolete."""

    kind: Literal["head_moved"] = "head_moved"
    repository: RepositoryRef
    branch: str
    before: str | None = Field(default=None, pattern=SHA)
    after: str | None = Field(default=None, pattern=SHA)
    """None when the branch was deleted."""
    pull_request: int | None = None
    """Set when a pull request was synchronized or closed."""
    closed: bool = False
    """The pull request was closed, so a repair is no longer wanted."""
    from_fork: bool = False
    """The branch belongs to a fork and must not be matched with branches here."""
    pusher: str = ""
    touches_policy: bool = False
    """A pushed commit changes a file that may hold the policy."""
    delivery_id: str | None = None


class PullRequestOpened(Frozen):
    """A person opened a pull request."""

    kind: Literal["opened"] = "opened"
    repository: RepositoryRef
    pull_request: int
    head_sha: str = Field(pattern=SHA)
    delivery_id: str | None = None


class DashboardDue(Frozen):
    """The dashboard issue of a repository has to be brought up to date."""

    kind: Literal["dashboard_due"] = "dashboard_due"
    repository: RepositoryRef
    turn: int
    """Number of the interval since 1970. There is one value for a repository in each interval, and
    so at most one write."""

    @property
    def key(self) -> str:
        """Return the unique name of this work."""
        return f"dashboard:{self.repository.id}:{self.turn}"


class DashboardTouched(Frozen):
    """A person closed, opened, deleted or edited an issue of ours."""

    kind: Literal["dashboard_touched"] = "dashboard_touched"
    repository: RepositoryRef
    number: int
    action: Literal["closed", "reopened", "deleted", "edited"]
    delivery_id: str | None = None


class InstallationChange(Frozen):
    """A change of an installation, its repositories or its permissions."""

    kind: Literal["installation"] = "installation"
    installation_id: int
    account: str = ""
    action: str
    """One of `created`, `deleted`, `suspend`, `unsuspend`, `new_permissions_accepted`, `added` and
    `removed`."""
    added: tuple[int, ...] = ()
    """Ids of repositories."""
    removed: tuple[int, ...] = ()
    delivery_id: str | None = None


class GivenUp(Frozen):
    """A mission failed repeatedly without an outcome and is not retried."""

    kind: Literal["given_up"] = "given_up"
    request: MissionRequest
    deaths: int
    """Number of failed attempts."""
    why: str = ""
    """Empty when the worker process died."""


class Halted(Frozen):
    """A running mission to stop, because the operator paused its scope with `--now`."""

    kind: Literal["halted"] = "halted"
    request: MissionRequest
    why: str
    at: str = ""
    """Time of the pause; distinguishes it from later pauses."""


class Feedback(Frozen):
    """The result of something we proposed."""

    kind: Literal["feedback"] = "feedback"
    repository: RepositoryRef
    pull_request: int
    merged: bool
    branch: str
    fate: Literal["merged", "closed", "reverted", "reopened", "ignored", "answered"] | None = None
    """None is derived from `merged`."""
    by: str = ""
    merge_sha: str | None = Field(default=None, pattern=SHA)
    delivery_id: str | None = None
    mission_id: str | None = None
    """Set for a change without a pull request: a commit, suggestions, or one that was only
    shown."""
    said: str = ""
    """The reason a person gave, or the answer to our question."""
    boxes: tuple[str, ...] = ()
    """Names of the boxes that reviewers ticked."""
    taken: str = ""
    """The change that people took instead of ours, as a diff of the failing commit."""
    difference: str = ""
    """The difference from our change to the one that they took, as a diff."""


class Ignored(Frozen):
    """An event without work for us; the reason is logged."""

    kind: Literal["ignored"] = "ignored"
    reason: str
