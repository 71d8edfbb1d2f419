"""The GitHub objects that a mission published."""

from typing import Literal

from bot.domain.mission import Outcome
from sandbox.types import Frozen


class Publication(Frozen):
    """The objects that one mission created on GitHub."""

    mission_id: str
    outcome: Outcome | None = None
    """The reported outcome; a fix can become STALE or DUPLICATE at publication."""
    branch: str | None = None
    commit: str | None = None
    pull_request: int | None = None
    pull_request_url: str | None = None
    way: Literal["pull-request", "push", "suggest", "report"] | None = None
    """The delivery method; None when the fix was not delivered."""
    review: int | None = None
    """The review that contains the suggestions."""
    check_run: int | None = None
    comments: tuple[int, ...] = ()
    skipped: str | None = None
    """The reason for opening nothing although a fix exists (an open one exists, the branch
    moved)."""
