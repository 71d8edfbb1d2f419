"""What became of handing a fix over."""

from typing import Literal

from bot.domain.github import PullRequestState
from bot.domain.mission import Outcome
from sandbox.types import Frozen

Way = Literal["pull-request", "push", "suggest", "report"]
"""How a fix is handed over; `report` shows it and touches nothing."""


class Offer(Frozen):
    """What became of handing a fix over."""

    outcome: Outcome
    """FIXED when it was handed over, else STALE, DUPLICATE or POLICY; FIXED with a note when it is only shown."""
    note: str = ""
    """Why it is only shown, or what has to be known about how it was handed over."""
    way: Way = "report"
    branch: str | None = None
    commit: str | None = None
    pull_request: PullRequestState | None = None
    """Ours; with DUPLICATE the one that stands in the way."""
    review: int | None = None

    @property
    def delivered(self) -> bool:
        """Whether people have the change where they can take it."""
        return self.outcome in {Outcome.FIXED, Outcome.PARTIAL} and self.way != "report"
