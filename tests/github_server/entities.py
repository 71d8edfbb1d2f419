"""What the local GitHub remembers beside git: accounts, repositories, issues, pull requests, checks and runs."""

from dataclasses import dataclass, field, replace
from typing import Any

from tests.github_server.gitstore import GitStore
from tests.patience import HANG_S

Json = dict[str, Any]

ACTIONS_APP_ID = 15368
ACTIONS_BOT = "github-actions[bot]"
WORST_FIRST = (
    "failure",
    "timed_out",
    "cancelled",
    "action_required",
    "stale",
    "success",
    "neutral",
    "skipped",
)
APP_PERMISSIONS = {
    "actions": "read",
    "checks": "write",
    "contents": "write",
    "issues": "read",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "read",
}
APP_EVENTS = (
    "check_run",
    "check_suite",
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review_comment",
    "push",
    "status",
    "workflow_job",
    "workflow_run",
)


@dataclass(slots=True)
class User:
    """A person, an organization or an App's bot."""

    login: str
    id: int
    type: str = "User"


@dataclass(slots=True)
class App:
    """A GitHub App: ours, GitHub Actions, or another CI."""

    id: int
    slug: str
    name: str
    owner: str
    permissions: dict[str, str]
    events: tuple[str, ...] = ()

    @property
    def client_id(self) -> str:
        """The other name an App may give itself in a JWT."""
        return f"Iv23li{self.id:014d}"

    @property
    def bot(self) -> str:
        """The login its comments and commits carry."""
        return f"{self.slug}[bot]"


@dataclass(slots=True)
class Installation:
    """Our App on one account."""

    id: int
    account: str
    permissions: dict[str, str]
    created_at: str
    suspended_at: str | None = None
    repository_ids: set[int] | None = None


@dataclass(slots=True)
class Token:
    """A credential: an installation's, or a person's."""

    value: str
    login: str
    installation: int | None = None
    permissions: dict[str, str] = field(default_factory=dict)
    repository_ids: set[int] | None = None
    expires_at: str | None = None
    app: int | None = None
    uses: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One `run:` step of the small CI."""

    name: str
    run: str


@dataclass(frozen=True, slots=True)
class Ci:
    """What the small CI does for a repository that has no workflow file of its own (or in spite of it).

    Attributes:
        steps: named shell commands, run in order until one fails.
        job: the job's and so the check run's name.
        workflow: the workflow's name.
        path: where the workflow file would be.
        events: which of `push` and `pull_request` start it.
        timeout: seconds for the whole job; longer is `timed_out` for the check and `failure` elsewhere.
        forced: conclusions of the next runs whatever the commands say, first to last (a flaky check by order).
        others: further jobs of the same workflow.
    """

    steps: tuple[Step, ...]
    job: str = "test"
    workflow: str = "CI"
    path: str = ".github/workflows/ci.yml"
    events: tuple[str, ...] = ("push",)
    timeout: float = HANG_S
    forced: tuple[str, ...] = ()
    others: tuple["Ci", ...] = ()

    @property
    def jobs(self) -> tuple["Ci", ...]:
        """All jobs of the workflow."""
        return (self, *self.others)

    @classmethod
    def matrix(cls, line: str, *names: str, **others: Any) -> "Ci":
        """Jobs that do the same; `GITHUB_JOB` tells a step in which of them it runs."""
        first, *more = (cls.command(line, job=name, **others) for name in names)
        return replace(first, others=tuple(more))

    @classmethod
    def command(cls, line: str, *, name: str = "Run tests", **others: Any) -> "Ci":
        """A job of one step."""
        return cls(steps=(Step(name, line),), **others)


@dataclass(slots=True)
class Label:
    """A label of a repository."""

    id: int
    name: str
    color: str = "ededed"
    description: str | None = ""


@dataclass(slots=True)
class Repository:
    """A repository; git itself is in `store`."""

    id: int
    owner: str
    name: str
    store: GitStore
    created_at: str
    private: bool = False
    default_branch: str = "main"
    parent: int | None = None
    ci: Ci | None = None
    permissions: dict[str, str] = field(default_factory=dict)
    issues: dict[int, "Issue"] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    pushed_at: str = ""
    ci_runs: int = 0
    more_ci: tuple[Ci, ...] = ()
    approves_forks: bool = False
    actions_open_pulls: bool = True
    rules: dict[str, tuple[str, ...]] = field(default_factory=dict)
    has_issues: bool = True
    deleted_issues: set[int] = field(default_factory=set)

    @property
    def full_name(self) -> str:
        """Owner and name."""
        return f"{self.owner}/{self.name}"


@dataclass(slots=True)
class Pull:
    """The part of a pull request that an issue does not have."""

    id: int
    head_repository: int
    head_owner: str
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    draft: bool = False
    maintainer_can_modify: bool = False
    merged_at: str | None = None
    merged_by: str | None = None
    merge_commit_sha: str | None = None
    reviewers: list[str] = field(default_factory=list)
    teams: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Reaction:
    """A reaction to an issue or a comment."""

    id: int
    user: str
    content: str
    created_at: str


@dataclass(slots=True)
class Comment:
    """A comment on an issue or a pull request."""

    id: int
    repository: int
    number: int
    user: str
    body: str
    created_at: str
    updated_at: str
    app: int | None = None
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(slots=True)
class Issue:
    """An issue or, with `pull`, a pull request."""

    id: int
    repository: int
    number: int
    title: str
    body: str | None
    user: str
    created_at: str
    updated_at: str
    pull: Pull | None = None
    state: str = "open"
    closed_at: str | None = None
    labels: list[str] = field(default_factory=list)
    comments: list[int] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    locked: bool = False
    closed_by: str | None = None


@dataclass(slots=True)
class Suite:
    """A check suite: all runs of one App on one commit."""

    id: int
    repository: int
    app: int
    head_sha: str
    head_branch: str | None
    before: str
    created_at: str
    updated_at: str
    runs: list[int] = field(default_factory=list)


@dataclass(slots=True)
class CheckRun:
    """A check run."""

    id: int
    repository: int
    suite: int
    app: int
    name: str
    head_sha: str
    started_at: str
    details_url: str | None = None
    external_id: str = ""
    status: str = "queued"
    conclusion: str | None = None
    completed_at: str | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[Json] = field(default_factory=list)
    actions: list[Json] = field(default_factory=list)
    history: list[Json] = field(default_factory=list)


@dataclass(slots=True)
class WorkflowRun:
    """A run of a workflow; its jobs are check runs too."""

    id: int
    repository: int
    suite: int
    workflow_id: int
    name: str
    path: str
    number: int
    event: str
    head_sha: str
    head_branch: str
    head_repository: int
    actor: str
    triggering_actor: str
    created_at: str
    updated_at: str
    attempt: int = 1
    status: str = "queued"
    conclusion: str | None = None
    jobs: list[int] = field(default_factory=list)
    referenced: list[Json] = field(default_factory=list)


@dataclass(slots=True)
class Job:
    """A job; its id is its check run's."""

    id: int
    run: int
    name: str
    created_at: str
    started_at: str
    attempt: int = 1
    completed_at: str | None = None
    status: str = "queued"
    conclusion: str | None = None
    steps: list[Json] = field(default_factory=list)
    log: str = ""
