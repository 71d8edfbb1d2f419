"""Whether a mission may run, and on what: Admission."""

from bot.domain.github import FailedJob
from bot.domain.mission import Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest, RepositoryRef
from sandbox.types import Checkout, Frozen, LogReading


class Admission(Frozen):
    """What GitHub said about a request. Stored by the engine, so it never carries a secret."""

    request: MissionRequest
    """The request, completed: head commit, branch, tier, pull request, red check."""
    refusal: Outcome | None = None
    """Set when the mission must not run: POLICY, STALE; ERROR when GitHub could not be asked."""
    reason: str = ""
    """Why it is refused, in one sentence for a person."""
    advice: str = ""
    """What the person can do about it."""
    policy: RepositoryPolicy = RepositoryPolicy()
    checkout: Checkout | None = None
    """What to open the workspace on, without authorization; None when refused."""
    job: FailedJob | None = None
    """The Actions job behind the red check, when there is one."""
    ci_log: LogReading | None = None
    """What that job's log says, gated; None when there is no log."""
    base_branch: str | None = None
    """Where the pull request wants to go; None for a push."""
    read_only: bool = False
    """Nothing may be pushed (the head is in a fork, or no fix was asked for): the result is told, not opened."""

    @property
    def admitted(self) -> bool:
        """Whether the mission may run."""
        return self.refusal is None

    @property
    def repository(self) -> RepositoryRef:
        """The repository; a request without one is never admitted."""
        if self.request.repository is None:
            raise ValueError("an admission is about a repository")
        return self.request.repository
