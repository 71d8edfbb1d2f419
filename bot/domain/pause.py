"""Pause: the operator's kill switch, for everything or for one place."""

from typing import ClassVar

from bot.domain.request import RepositoryRef
from sandbox.types import Frozen

EVERYWHERE = ""
"""The place that is everything."""


class Pause(Frozen):
    """No mission begins in a place, until the operator says so."""

    place: str = EVERYWHERE
    """`acme` or `acme/shop`, in lower case; empty is everything."""
    now: bool = False
    """Those that run are stopped, too."""
    why: str = ""
    at: str = ""
    """ISO 8601, UTC."""

    advice: ClassVar[str] = "ask the operator; `/metaagent fix` once it goes on"

    def covers(self, repository: RepositoryRef) -> bool:
        """Whether a repository is in the place."""
        return self.place in places_of(repository)

    @property
    def in_words(self) -> str:
        """What is paused, and why."""
        return f"{self.place or 'everything'} is paused by the operator" + (f" ({self.why})" if self.why else "")


def places_of(repository: RepositoryRef) -> tuple[str, ...]:
    """The places a repository is in, the widest first."""
    return EVERYWHERE, repository.owner.lower(), repository.full_name.lower()
