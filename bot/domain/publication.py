"""What people were told, and where."""

from typing import Literal

from bot.domain.mission import Outcome
from sandbox.types import Frozen


class Publication(Frozen):
    """The traces one mission left on GitHub."""

    mission_id: str
    outcome: Outcome | None = None
    """The outcome as it was told: a fix can turn out STALE or DUPLICATE at the last moment."""
    branch: str | None = None
    commit: str | None = None
    pull_request: int | None = None
    pull_request_url: str | None = None
    way: Literal["pull-request", "push", "suggest", "report"] | None = None
    """How the fix was handed over; None when it was not."""
    review: int | None = None
    """The review that carries the suggestions."""
    check_run: int | None = None
    comments: tuple[int, ...] = ()
    skipped: str | None = None
    """Why nothing was opened though a fix was there (a live one exists, the branch moved)."""
