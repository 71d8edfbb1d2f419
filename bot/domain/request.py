"""What one event comes down to: RedHead, MissionRequest, Feedback, HeadMoved, InstallationChange or Ignored."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from sandbox.types import Frozen, TrustTier

SHA = r"^[0-9a-f]{40}$"


class RepositoryRef(Frozen):
    """A repository as GitHub knows it; state is keyed by `id`, names change."""

    id: int
    """Below 1: only its name is known."""
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
    """A red check, whichever event told of it."""
    COMMENT = "comment"
    """A person: a comment, a button, a label."""
    SCHEDULE = "schedule"
    """The recovery sweep, or the repository's own schedule."""
    ACTION = "action"
    """A step of a workflow."""
    COMMAND_LINE = "command_line"


class Depth(StrEnum):
    """How far a mission goes."""

    FIX = "fix"
    EXPLAIN = "explain"
    """Until the cause is known; nothing is changed."""
    REPRODUCE = "reproduce"
    """Until the failure is reproduced and told apart from a flake or an outage."""


class CheckRef(Frozen):
    """The red check."""

    id: int
    """0 for a commit status, which has none."""
    name: str
    app_slug: str = ""
    conclusion: str = "failure"
    details_url: str | None = None

    @property
    def is_actions_job(self) -> bool:
        """GitHub Actions makes check run and job with the same id."""
        return self.app_slug == "github-actions"

    @property
    def is_status(self) -> bool:
        """A commit status of an older CI stands for a check."""
        return self.id == 0


class CommentRef(Frozen):
    """The comment that gave a command."""

    id: int
    author: str
    number: int
    """Issue or pull request it stands in."""
    in_review: bool = False
    """It stands in a review thread: reactions and replies have other addresses there."""


class Answer(Frozen):
    """What a person answered to our question."""

    proposal_id: str
    choice: int | None = Field(default=None, ge=1)
    """Which of the shown changes, counted from one; None for words."""
    text: str = Field(default="", max_length=4_000)


class MissionRequest(Frozen):
    """Somebody or something asks for a mission. Exactly one of `repository` and `folder` is given."""

    mission_id: str
    """Deterministic: the same failure asked for twice has the same id."""
    trigger: Trigger
    repository: RepositoryRef | None = None
    head_sha: str | None = Field(default=None, pattern=SHA)
    head_branch: str | None = None
    check: CheckRef | None = None
    """The check that is repaired."""
    also_red: tuple[CheckRef, ...] = ()
    """Other red checks of the same head: one mission answers for all of them."""
    pull_request: int | None = None
    comment: CommentRef | None = None
    tier: TrustTier = TrustTier.BRANCH
    delivery_id: str | None = None
    requested_by: str | None = None
    actors: tuple[str, ...] = ()
    """Who set off the red run: actor and triggering actor."""
    depth: Depth = Depth.FIX
    answer: Answer | None = None
    """Goes on where an earlier mission asked a person."""
    hint: str = Field(default="", max_length=4_000)
    """What a person said about where to look: files, with or without a line, are suspected."""
    supersedes: str | None = None
    """The mission on an older commit of the same branch that a push ended."""
    folder: str | None = None
    """A red working tree on this host (command line only)."""
    command: str | None = None
    """An explicit test command."""
    since: str | None = None
    """The revision a folder was green at; None chooses one."""
    seed: int = 0
    time_limit_s: float | None = None
    rungs: tuple[int, ...] = (0, 1, 2)

    @property
    def memory_key(self) -> str:
        """Under which lessons are kept and recalled: a repository never sees another's, nor what its forks brought."""
        if self.repository is None:
            return f"local:{self.folder}"
        return f"{self.repository.id}:fork" if self.tier is TrustTier.FORK else str(self.repository.id)


class RedHead(Frozen):
    """A check of a commit is red; all that are red become one mission when the set of checks has settled."""

    kind: Literal["red_head"] = "red_head"
    repository: RepositoryRef
    head_sha: str = Field(pattern=SHA)
    head_branch: str | None = None
    check: CheckRef | None = None
    """The red check, when the event names one; a workflow run or a suite names none."""
    pull_request: int | None = None
    tier: TrustTier = TrustTier.BRANCH
    actors: tuple[str, ...] = ()
    """Who set off the red run: actor and triggering actor, where the event tells."""
    workflow_run: int | None = None
    trigger: Trigger = Trigger.CHECK_RUN
    delivery_id: str | None = None
    again: bool = False
    """The commit is wanted once more, though its mission has ended: its pull request was opened again."""

    @property
    def mission_id(self) -> str:
        """The one mission that all red checks of this commit ask for."""
        mission = f"mission:{self.repository.id}:{self.head_sha}:auto"
        return f"{mission}:{self.delivery_id}" if self.again else mission


class HeadMoved(Frozen):
    """Somebody pushed to a branch, or took it away: work on what was there is needless."""

    kind: Literal["head_moved"] = "head_moved"
    repository: RepositoryRef
    branch: str
    before: str | None = Field(default=None, pattern=SHA)
    after: str | None = Field(default=None, pattern=SHA)
    """None when the branch was deleted."""
    pull_request: int | None = None
    """Known when a pull request was synchronized or closed."""
    closed: bool = False
    """The pull request was closed: nobody waits for a repair of it."""
    from_fork: bool = False
    """The branch is a fork's: its name says nothing of the branches here."""
    pusher: str = ""
    delivery_id: str | None = None


class InstallationChange(Frozen):
    """The App was installed, removed, suspended, or given other repositories or rights."""

    kind: Literal["installation"] = "installation"
    installation_id: int
    account: str = ""
    action: str
    """`created`, `deleted`, `suspend`, `unsuspend`, `new_permissions_accepted`, `added`, `removed`."""
    added: tuple[int, ...] = ()
    """Ids of repositories."""
    removed: tuple[int, ...] = ()
    delivery_id: str | None = None


class GivenUp(Frozen):
    """A mission failed again and again in a way that is no outcome, and is not begun once more."""

    kind: Literal["given_up"] = "given_up"
    request: MissionRequest
    deaths: int
    """How often."""
    why: str = ""
    """Empty: the process that worked on it died."""


class Halted(Frozen):
    """A mission that runs is to be stopped because the operator paused what it works on with `--now`."""

    kind: Literal["halted"] = "halted"
    request: MissionRequest
    why: str
    at: str = ""
    """When it was paused: another pause is another matter."""


class Feedback(Frozen):
    """What became of something we proposed."""

    kind: Literal["feedback"] = "feedback"
    repository: RepositoryRef
    pull_request: int
    merged: bool
    branch: str
    fate: Literal["merged", "closed", "reverted", "reopened"] | None = None
    """None follows `merged`."""
    by: str = ""
    merge_sha: str | None = Field(default=None, pattern=SHA)
    delivery_id: str | None = None
    mission_id: str | None = None
    """Of a change that was refused before it had a pull request."""
    said: str = ""
    """The reason a person gave."""
    boxes: tuple[str, ...] = ()
    """The boxes that reviewers ticked, by name."""


class Ignored(Frozen):
    """Not for us; the reason is logged and testable."""

    kind: Literal["ignored"] = "ignored"
    reason: str
