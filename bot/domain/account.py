"""Whose money a model call spends, up to which limits, and what the ledger says to it."""

from pydantic import Field

from bot.domain.model import Completion
from sandbox.types import Frozen


class Account(Frozen):
    """Where a mission's calls are booked. A limit of None does not limit."""

    mission: str
    repository: str
    pull_request: str = ""
    """The pull request, or the branch where there is none."""
    installation: str = ""
    day: str
    """ISO date, UTC."""
    usd_per_mission: float | None = Field(default=None, ge=0.0)
    usd_per_pull_request: float | None = Field(default=None, ge=0.0)
    usd_per_day: float | None = Field(default=None, ge=0.0)
    """Of the repository."""
    calls_per_mission: int = Field(default=60, ge=0)
    """Bounds what has no price."""


class Reserved(Frozen):
    """A reservation, or the answer that was paid for before."""

    id: int = 0
    answer: Completion | None = None
