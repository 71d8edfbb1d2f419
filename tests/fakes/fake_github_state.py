"""What FakeGitHub remembers, and how a test makes it fail."""

from dataclasses import dataclass, field

from bot.domain.github import (
    BranchRules,
    CheckRunState,
    CheckUpdate,
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
from bot.errors import GitHubError
from sandbox.types import FileEdit

BODY_LIMIT = 65_536


@dataclass
class FakeComment:
    """A comment somebody wrote."""

    id: int
    number: int
    author: str
    body: str
    in_reply_to: int | None = None
    """The review comment it answers (review comments only)."""


@dataclass
class FakeCheck:
    """Our check run on a commit, with every update it got."""

    id: int
    sha: str
    updates: list[CheckUpdate] = field(default_factory=list)


@dataclass
class FakeReview:
    """A review we gave."""

    id: int
    number: int
    head_sha: str
    body: str
    suggestions: tuple[Suggestion, ...]


@dataclass
class FakeIssue:
    """An issue, which is no pull request."""

    number: int
    author: str
    title: str
    body: str
    is_open: bool = True


class FakeState:
    """One repository in memory. Tests fill its public attributes and read them back.

    Args:
        app_slug: Who we are: what we write is by `<app_slug>[bot]`.
    """

    def __init__(self, app_slug: str = "metaagent") -> None:
        self.bot = f"{app_slug}[bot]"
        self.permissions: dict[str, str] = {}
        self.branches: dict[str, str] = {}
        self.commits: dict[str, CommitState] = {}
        self.edits: dict[str, tuple[FileEdit, ...]] = {}
        """By commit: what it changed."""
        self.files: dict[tuple[str, str], bytes] = {}
        """By (ref, path)."""
        self.called: dict[str, bytes] = {}
        """By `owner/name/path@sha`: reusable workflows that the token may read."""
        self.jobs: dict[int, FailedJob] = {}
        self.logs: dict[int, str] = {}
        self.merge_bases: dict[tuple[str, str], str] = {}
        self.other_checks: list[CheckRunState] = []
        self.pulls: dict[int, PullRequestState] = {}
        self.titles: dict[int, str] = {}
        self.drafts: set[int] = set()
        self.comments: list[FakeComment] = []
        self.reactions: list[tuple[int, str]] = []
        self.checks: list[FakeCheck] = []
        self.runs: dict[int, WorkflowRunState] = {}
        self.statuses: dict[str, tuple[StatusState, ...]] = {}
        """By commit: the contexts that are red."""
        self.reruns: list[int] = []
        self.pull_files: dict[int, tuple[PullRequestFile, ...]] = {}
        self.reviews: list[FakeReview] = []
        self.review_comments: list[FakeComment] = []
        self.review_reactions: list[tuple[int, str]] = []
        self.pull_labels: dict[int, list[str]] = {}
        self.reviewers: dict[int, list[str]] = {}
        self.strangers: set[str] = set()
        """Whom GitHub takes no request of review for."""
        self.issues: list[FakeIssue] = []
        self.rules: dict[str, BranchRules] = {}
        self.hook_log: list[HookDelivery] = []
        """Newest first."""
        self.payloads: dict[int, tuple[str, bytes]] = {}
        self.installed: list[InstallationRef] = []
        self.installed_on: dict[int, tuple[RepositoryRef, ...]] = {}
        self.released: list[int] = []
        self.calls: list[str] = []
        """The name of every call, in order."""
        self.faults: dict[str, list[BaseException]] = {}
        """By name of a call: what the next ones raise instead of answering."""
        self.after: dict[str, list[BaseException]] = {}
        """By name of a call: what the next ones raise after they did their work (the answer is lost)."""
        self._number = 100

    def _begin(self, name: str) -> None:
        self.calls.append(name)
        if self.faults.get(name):
            raise self.faults[name].pop(0)

    def _end(self, name: str) -> None:
        if self.after.get(name):
            raise self.after[name].pop(0)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _check_length(self, body: str) -> None:
        if len(body) > BODY_LIMIT:
            raise GitHubError("body is too long (maximum is 65536 characters)", status=422)
