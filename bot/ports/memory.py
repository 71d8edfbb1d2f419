"""What is remembered: lessons, what is under way where, and large values."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from bot.domain.blob import Blob, Drawer, Kind
from bot.domain.lesson import Forecast, Lesson, RecalledLesson
from bot.domain.registry import FixState, InstallationState, LiveMission, OfferedFix, Proposal, Switch
from bot.domain.request import Feedback


class Recall(Protocol):
    """Lessons, read side."""

    async def recall(
        self, *, repository_id: str, fingerprint: str, error: str | None, words: Sequence[str], limit: int = 5
    ) -> tuple[RecalledLesson, ...]:
        """Lessons that bear on a failure, best first."""
        ...

    async def template_record(self, *, repository_id: str, error: str | None) -> dict[str, tuple[int, int]]:
        """Per template: how often it won, and how often that was rejected later."""
        ...

    async def forecasts(self, *, repository_id: str) -> tuple[Forecast, ...]:
        """Every confidence shown whose fate is known: what calibrates the next one."""
        ...


class LessonStore(Recall, Protocol):
    """Lessons, write side, and a look at all of them."""

    async def newest(self, *, repository_id: str, limit: int = 5) -> tuple[Lesson, ...]:
        """The lessons kept last, newest first."""
        ...

    async def remember(self, lesson: Lesson) -> None:
        """Keep a lesson; the same id again replaces it."""
        ...

    async def feed_back(self, feedback: Feedback) -> int:
        """Record what became of a pull request; how many lessons that touched."""
        ...


class Registry(Protocol):
    """What is under way where; survives a restart. Every method may raise a StoreError."""

    async def begin(self, mission: LiveMission) -> None:
        """A mission waits or runs; the same id again replaces it."""
        ...

    async def end(self, mission_id: str) -> None:
        """It does not any more."""
        ...

    async def live(
        self, repository_id: int, *, branch: str | None = None, pull_request: int | None = None
    ) -> tuple[LiveMission, ...]:
        """Missions that wait or run, oldest first; on a branch or for a pull request when given."""
        ...

    async def last(self, repository_id: int, *, branch: str) -> LiveMission | None:
        """The newest mission begun on a branch, whether it ended or not."""
        ...

    async def attempts(self, repository_id: int, *, branch: str) -> int:
        """Automatic missions begun on a branch since a person last pushed or asked there."""
        ...

    async def forgive(self, repository_id: int, *, branch: str) -> None:
        """Count attempts on a branch from zero: a person pushed or asked."""
        ...

    async def offer(self, fix: OfferedFix) -> None:
        """A fix was put before people, or its state is known better; the same key again replaces it."""
        ...

    async def revise(self, key: str, become: Callable[[OfferedFix], OfferedFix]) -> OfferedFix | None:
        """Change a fix as it stands at this moment; nobody writes between the look at it and the change.

        Args:
            key: Of the fix; a change leaves it as it is.
            become: What follows from what it is now: the same value changes nothing. It asks nobody, and may be called
                in another thread.

        Returns:
            What it is from now on; None when nothing was changed, or nothing is known of it.
        """
        ...

    async def offered(
        self,
        repository_id: int,
        *,
        fingerprint: str | None = None,
        state: FixState | None = None,
        pull_request: int | None = None,
    ) -> tuple[OfferedFix, ...]:
        """Offered fixes, newest first, narrowed by what is given."""
        ...

    async def is_blocked(self, repository_id: int, patch_id: str) -> OfferedFix | None:
        """The fix of this very change that a person closed or undid, if there is one."""
        ...

    async def propose(self, proposal: Proposal) -> None:
        """Keep what a person has to decide; the same id again replaces it."""
        ...

    async def proposal(
        self, repository_id: int, *, pull_request: int | None = None, proposal_id: str | None = None
    ) -> Proposal | None:
        """The newest open one for a pull request, or the one with this id."""
        ...

    async def switch(self, switch: Switch) -> None:
        """Turn off or on."""
        ...

    async def off(self, repository_id: int, pull_request: int | None = None) -> Switch | None:
        """The switch that keeps us off here: the pull request's own wins over the repository's."""
        ...

    async def note_installation(self, state: InstallationState) -> None:
        """What an installation is like now."""
        ...

    async def installation(self, installation_id: int) -> InstallationState | None:
        """What was last known of it."""
        ...


class BlobStore(Protocol):
    """Large values under their own hash, in one place for all processes.

    Every method may raise a StoreError: the place is out of reach for now, or full.
    """

    async def put(self, drawer: Drawer, content: bytes) -> str:
        """Keep a value whole or not at all, and give its digest; the same again renews it.

        Raises:
            BlobRefused: it is larger than what is kept.
        """
        ...

    async def get(self, drawer: Drawer, digest: str) -> bytes:
        """The value with this digest, as it was put.

        Raises:
            BlobLost: it is not there, or not what was put; asking again does not help.
        """
        ...

    async def kept(self, kind: Kind, owner: str | None = None, *, before: datetime | None = None) -> tuple[Blob, ...]:
        """What is kept of a kind, or in one drawer of it, or was put before then; oldest first."""
        ...

    async def taken(self, kind: Kind) -> int:
        """The bytes of all that is kept of a kind."""
        ...

    async def drop(self, blobs: Sequence[Blob]) -> None:
        """Keep these no longer; what is gone already is no trouble."""
        ...

    async def clear_up(self) -> int:
        """Remove what whoever died while putting it left half written, a day ago or earlier; how many."""
        ...
