"""Active missions, offered fixes, open questions, switches and installations."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from bot.domain.lesson import AlikeEdit
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import SHA, RepositoryRef
from sandbox.types import FileEdit, Frozen, KnownCall


class LiveMission(Frozen):
    """A waiting or running mission, indexed by its branch."""

    mission_id: str
    repository: RepositoryRef
    head_sha: str | None = Field(default=None, pattern=SHA)
    branch: str | None = None
    pull_request: int | None = None
    requested_by: str | None = None
    """The login of the person who asked; None for a red check."""
    since: str = ""
    """ISO 8601, UTC."""
    admitted: bool = False
    """The policy admitted it; before that it may end without a report."""


class FixState(StrEnum):
    """The state of an offered fix."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"
    """A person closed it or deleted its branch."""
    REVERTED = "reverted"
    """It was merged and later reverted."""
    SUPERSEDED = "superseded"
    """A newer fix replaced it, or the failure disappeared."""
    EXPIRED = "expired"

    @property
    def blocks(self) -> bool:
        """Return True if the same change must not be offered again automatically."""
        return self in {FixState.CLOSED, FixState.REVERTED}


class OfferedFix(Frozen):
    """A fix offered to people; at most one is open per failure and branch."""

    repository: RepositoryRef
    fingerprint: str
    """Identifies the failure."""
    base_branch: str
    """The red branch, which is the target of the fix."""
    head_sha: str = Field(pattern=SHA)
    """The red commit that the fix is based on."""
    branch: str
    """The fix branch; the red branch itself for a direct push."""
    commit: str = Field(pattern=SHA)
    """The commit of the fix."""
    patch_id: str
    """Identifies the change, to recognize a refused one."""
    pull_request: int | None = None
    """None for a direct push or suggestions."""
    for_pull_request: int | None = None
    """The red pull request, if there is one."""
    checks: tuple[str, ...] = ()
    """Names of the red checks that it repairs."""
    files: dict[str, str] = Field(default_factory=dict)
    """Changed files and their modes, which an undo restores."""
    mission_id: str
    state: FixState = FixState.OPEN
    taken_over: str = ""
    """The person who pushed to the fix branch. From then on we never modify it."""
    closing: bool = False
    """The fix was withdrawn, but closing its pull request is not confirmed yet."""
    note: str = ""
    at: str = ""
    """Time of the offer; ISO 8601, UTC."""
    merge_sha: str | None = Field(default=None, pattern=SHA)

    @property
    def key(self) -> str:
        """Return the primary key; each of our branches is used once."""
        return f"{self.repository.id}:{self.branch}:{self.commit}"


class ProposedChange(Frozen):
    """A change that was shown but not pushed."""

    title: str
    diff: str
    edits: tuple[FileEdit, ...]
    patch_id: str
    rung: int
    template: str = ""
    explanation: str = ""
    calls: tuple[KnownCall, ...] = ()
    """Calls that distinguish it from the other changes."""
    alike: tuple[AlikeEdit, ...] = ()
    """Small changes that behave like it."""


class Proposal(Frozen):
    """An open decision for a person: a question with its answers, or a patch to apply."""

    proposal_id: str
    """The id of the mission that asks."""
    repository: RepositoryRef
    head_sha: str = Field(pattern=SHA)
    head_branch: str | None = None
    pull_request: int | None = None
    question: str = ""
    """Empty for a change that can be applied without a question."""
    changes: tuple[ProposedChange, ...] = ()
    at: str = ""
    decided: str = ""
    """`applied`, `answered`, `rejected`; empty while open."""


class Switch(Frozen):
    """MetaAgent was turned off or on for a repository or a pull request."""

    repository_id: int
    pull_request: int | None = None
    """None for the whole repository."""
    off: bool
    by: str
    at: str = ""


class InstallationState(Frozen):
    """The last known state of an installation."""

    installation_id: int
    account: str = ""
    suspended: bool = False
    removed: bool = False
    permissions: dict[str, str] = Field(default_factory=dict)
    at: str = ""


class DashboardIssue(Frozen):
    """The stored state of a repository's dashboard issue, so that GitHub is not asked."""

    policy: RepositoryPolicy | None = None
    """The policy as it was last read; None before that."""
    number: int | None = None
    """None until it is opened, or found again."""
    closed_by: Literal["", "policy", "person"] = ""
    digest: str = ""
    """Digest of the text that we wrote; empty if a person changed it since."""
    closed_pulls: tuple[int, ...] = ()
    """Pull requests that people closed lately; their missions are not shown."""
    not_before: str = ""
    """Time until which a missing right is not tried again, ISO 8601."""

    @property
    def is_wanted(self) -> bool:
        """Return True if the policy wants the issue."""
        return self.policy is not None and self.policy.dashboard_issue

    def needs_work(self, now: str) -> bool:
        """Return True if there may be something to write."""
        if self.policy is None or self.policy.mode == "staged" or now < self.not_before:
            return False
        if self.is_wanted:
            return self.closed_by != "person"
        return self.number is not None and self.closed_by != "policy"
