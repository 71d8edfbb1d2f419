"""What is under way where: live missions, offered fixes, open questions, switches, installations."""

from enum import StrEnum

from pydantic import Field

from bot.domain.request import SHA, RepositoryRef
from sandbox.types import FileEdit, Frozen


class LiveMission(Frozen):
    """A mission that waits or runs, found by the branch it works on."""

    mission_id: str
    repository: RepositoryRef
    head_sha: str | None = Field(default=None, pattern=SHA)
    branch: str | None = None
    pull_request: int | None = None
    requested_by: str | None = None
    """Who asked; None for a red check."""
    since: str = ""
    """ISO 8601, UTC."""
    admitted: bool = False
    """Policy lets it work; until then it may still end without a word."""


class FixState(StrEnum):
    """What became of an offered fix."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"
    """A person closed it, or took its branch away."""
    REVERTED = "reverted"
    """It was merged, and undone later."""
    SUPERSEDED = "superseded"
    """A newer fix took its place, or the failure went away by itself."""
    EXPIRED = "expired"

    @property
    def blocks(self) -> bool:
        """Whether the same change is never offered again unasked."""
        return self in {FixState.CLOSED, FixState.REVERTED}


class OfferedFix(Frozen):
    """One fix we put before people: at most one open for each failure on each branch."""

    repository: RepositoryRef
    fingerprint: str
    """Names the failure."""
    base_branch: str
    """The red branch, into which the fix goes."""
    head_sha: str = Field(pattern=SHA)
    """The red commit it was made on."""
    branch: str
    """The fix branch; the red branch itself when the fix was pushed directly."""
    commit: str = Field(pattern=SHA)
    """The commit we made."""
    patch_id: str
    """Names the change itself, so that a refused one is known again."""
    pull_request: int | None = None
    """None when the fix was pushed directly or handed over as suggestions."""
    for_pull_request: int | None = None
    """The red pull request, when there is one."""
    checks: tuple[str, ...] = ()
    """The names of the red checks it answers."""
    files: dict[str, str] = Field(default_factory=dict)
    """The files it changes, and their modes: what undoing it has to put back."""
    mission_id: str
    state: FixState = FixState.OPEN
    taken_over: str = ""
    """The person who pushed to the fix branch: it is theirs now, and we never touch it again."""
    closing: bool = False
    """We took it back, and are not sure yet that its pull request is closed."""
    note: str = ""
    at: str = ""
    """When it was offered; ISO 8601, UTC."""
    merge_sha: str | None = Field(default=None, pattern=SHA)

    @property
    def key(self) -> str:
        """One row in the registry: a branch of ours is used once."""
        return f"{self.repository.id}:{self.branch}:{self.commit}"


class ProposedChange(Frozen):
    """A change that was shown and not pushed."""

    title: str
    diff: str
    edits: tuple[FileEdit, ...]
    patch_id: str
    rung: int
    template: str = ""
    explanation: str = ""


class Proposal(Frozen):
    """What a mission left for a person to decide: a question with its answers, or a patch to apply."""

    proposal_id: str
    """The mission that asks."""
    repository: RepositoryRef
    head_sha: str = Field(pattern=SHA)
    head_branch: str | None = None
    pull_request: int | None = None
    question: str = ""
    """Empty when nothing is asked: the change may be applied."""
    changes: tuple[ProposedChange, ...] = ()
    at: str = ""
    decided: str = ""
    """`applied`, `answered`, `rejected`; empty while it is open."""


class Switch(Frozen):
    """Somebody turned us off (or on again) for a repository or for one pull request."""

    repository_id: int
    pull_request: int | None = None
    """None for the whole repository."""
    off: bool
    by: str
    at: str = ""


class InstallationState(Frozen):
    """An installation as we know it."""

    installation_id: int
    account: str = ""
    suspended: bool = False
    removed: bool = False
    permissions: dict[str, str] = Field(default_factory=dict)
    at: str = ""
