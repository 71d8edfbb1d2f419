"""Pause: the operator's kill switch, for everything or for one scope."""

from typing import ClassVar

from bot.domain.request import RepositoryRef
from sandbox.types import Frozen

EVERYWHERE = ""
"""The place that covers all repositories."""


class Pause(Frozen):
    """A pause of new missions in one place, until the operator ends it."""

    place: str = EVERYWHERE
    """`acme` or `acme/shop`, in lower case; empty covers everything."""
    now: bool = False
    """Running missions are stopped as well."""
    why: str = ""
    at: str = ""
    """ISO 8601, UTC."""

    advice: ClassVar[str] = "ask the operator; `/metaagent fix` once it goes on"

    def covers(self, repository: RepositoryRef) -> bool:
        """Return True if the pause applies to a repository."""
        return self.place in enclosing_places(repository)

    @property
    def in_words(self) -> str:
        """Return the paused place and the reason as a phrase."""
        return f"{self.place or 'everything'} is paused by the operator" + (
            f" ({self.why})" if self.why else ""
        )


def enclosing_places(repository: RepositoryRef) -> tuple[str, ...]:
    """Return the places that contain a repository, the widest first."""
    # GitHub's names are case-insensitive.
    return EVERYWHERE, repository.owner.lower(), repository.full_name.lower()
