"""Result of delivering a fix."""

from typing import Literal

from bot.domain.github import PullRequestState
from bot.domain.mission import Outcome
from sandbox.types import Frozen

_WITH_CHANGE = frozenset({Outcome.FIXED, Outcome.IMPROVED, Outcome.PARTIAL})

Way = Literal["pull-request", "push", "suggest", "report"]
"""Delivery of a fix; `report` only shows it."""


class Offer(Frozen):
    """Result of delivering a fix."""

    outcome: Outcome
    """FIXED or IMPROVED if delivered or only shown (with a note); else STALE, DUPLICATE or
    POLICY."""
    note: str = ""
    """Reason why it is only shown, or a remark on its delivery."""
    way: Way = "report"
    branch: str | None = None
    commit: str | None = None
    pull_request: PullRequestState | None = None
    """Our pull request; for DUPLICATE the existing one."""
    review: int | None = None

    @property
    def delivered(self) -> bool:
        """Return True if people can take the change on GitHub."""
        return self.outcome in _WITH_CHANGE and self.way != "report"
