"""The result of checking whether a mission may run: Admission."""

from bot.domain.github import FailedJob
from bot.domain.mission import Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest, RepositoryRef
from sandbox.types import Checkout, Frozen, LogReading


class Admission(Frozen):
    """Facts from GitHub about a request.

    Persisted by the workflow engine, so it holds no secrets.
    """

    request: MissionRequest
    """The completed request: head commit, branch, tier, pull request, red check."""
    refusal: Outcome | None = None
    """Set when the mission must not run: POLICY or STALE; ERROR when the GitHub query failed."""
    reason: str = ""
    """The reason for the refusal, in one sentence for a person."""
    advice: str = ""
    """Advice for the person."""
    policy: RepositoryPolicy = RepositoryPolicy()
    checkout: Checkout | None = None
    """The checkout for the workspace, without authorization; None when refused."""
    job: FailedJob | None = None
    """The Actions job behind the red check, when there is one."""
    ci_log: LogReading | None = None
    """The gated summary of that job's log; None without a log."""
    base_branch: str | None = None
    """The target branch of the pull request; None for a push."""
    read_only: bool = False
    """True if no push is allowed: the head is in a fork, or no fix was requested. The result is
    then only reported."""

    @property
    def admitted(self) -> bool:
        """Return True if the mission may run."""
        return self.refusal is None

    @property
    def repository(self) -> RepositoryRef:
        """Return the repository of an admitted request.

        Raises:
            ValueError: the request has no repository, so it was never admitted.
        """
        if self.request.repository is None:
            raise ValueError("an admission is about a repository")
        return self.request.repository
