"""Persistent storage: lessons, the registry of active work, and large values."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from bot.domain.blob import Blob, BlobKind, Drawer
from bot.domain.lesson import Correction, Forecast, Lesson, RecalledLesson
from bot.domain.registry import (
    FixState,
    InstallationState,
    LiveMission,
    OfferedFix,
    Proposal,
    Switch,
)
from bot.domain.request import Feedback


class Recall(Protocol):
    """Read access to lessons."""

    async def recall(
        self,
        *,
        repository_id: str,
        fingerprint: str,
        error: str | None,
        words: Sequence[str],
        limit: int = 5,
    ) -> tuple[RecalledLesson, ...]:
        """Return the lessons relevant to a failure, best first."""
        ...

    async def template_record(
        self, *, repository_id: str, error: str | None
    ) -> dict[str, tuple[float, float]]:
        """Return, per template, the number of its wins and of later rejections.

        Old ones count less than one time.
        """
        ...

    async def refused(self, *, repository_id: str) -> tuple[Lesson, ...]:
        """Return the lessons whose fix was closed, rejected or reverted by a person."""
        ...

    async def accepted(
        self, *, repository_id: str, error: str | None, limit: int = 20
    ) -> tuple[Lesson, ...]:
        """Return the newest lessons of an error whose fix people took as it was."""
        ...

    async def forecasts(self, *, repository_id: str) -> tuple[Forecast, ...]:
        """Return every shown confidence with a known result, for calibration."""
        ...

    async def correction(self) -> Correction:
        """Return what the newest outcomes of all repositories say about the ranks.

        Each repository counts to a limit, and its outcomes weigh less the more it has. Forks do
        not count: strangers decide about their pull requests.
        """
        ...


class LessonStore(Recall, Protocol):
    """Read and write access to lessons."""

    async def newest(self, *, repository_id: str, limit: int = 5) -> tuple[Lesson, ...]:
        """Return the most recent lessons, newest first."""
        ...

    async def remember(self, lesson: Lesson) -> None:
        """Store a lesson; an existing one with the same id is replaced."""
        ...

    async def feed_back(self, feedback: Feedback) -> int:
        """Record the result of a pull request. Return the number of updated lessons."""
        ...

    async def expire(self, *, repository_id: str, before: str) -> int:
        """Mark older fixes that people never answered as ignored.

        Fixes with a pull request are not affected.

        Args:
            repository_id: The repository; its forks are included.
            before: ISO 8601, UTC.

        Returns:
            The number of marked lessons.
        """
        ...

    async def forget(self, *, repository_id: str) -> int:
        """Delete all lessons of a repository and of its forks. Return their number."""
        ...


class RegistryReads(Protocol):
    """State of missions, fixes and proposals. Every method may raise a StoreError."""

    async def live(
        self, repository_id: int, *, branch: str | None = None, pull_request: int | None = None
    ) -> tuple[LiveMission, ...]:
        """Return waiting and running missions, oldest first, filtered by branch or pull request."""
        ...

    async def last(self, repository_id: int, *, branch: str) -> LiveMission | None:
        """Return the newest mission started on a branch, active or ended."""
        ...

    async def attempts(self, repository_id: int, *, branch: str) -> int:
        """Return the number of automatic missions on a branch since a person last acted there."""
        ...

    async def offered(
        self,
        repository_id: int,
        *,
        fingerprint: str | None = None,
        state: FixState | None = None,
        pull_request: int | None = None,
    ) -> tuple[OfferedFix, ...]:
        """Return offered fixes, newest first, filtered by the given values."""
        ...

    async def is_blocked(self, repository_id: int, patch_id: str) -> OfferedFix | None:
        """Return the fix with this change that a person closed or reverted, if there is one."""
        ...

    async def proposal(
        self, repository_id: int, *, pull_request: int | None = None, proposal_id: str | None = None
    ) -> Proposal | None:
        """Return the newest open proposal of a pull request, or the one with this id."""
        ...

    async def undecided(self, repository_id: int) -> tuple[Proposal, ...]:
        """Return the 50 newest open proposals."""
        ...

    async def off(self, repository_id: int, pull_request: int | None = None) -> Switch | None:
        """Return the switch that disables MetaAgent here.

        A pull request's own switch takes precedence.
        """
        ...

    async def switched_off(self) -> dict[int, Switch]:
        """Return the switches that disable MetaAgent for whole repositories, by repository."""
        ...

    async def turned_off(self, repository_id: int) -> tuple[Switch, ...]:
        """Return the switches that disable MetaAgent here and in single pull requests."""
        ...

    async def installation(self, installation_id: int) -> InstallationState | None:
        """Return the last known state of an installation."""
        ...


class Registry(RegistryReads, Protocol):
    """Persistent state of missions, fixes and proposals. Every method may raise a StoreError."""

    async def begin(self, mission: LiveMission) -> None:
        """Record a waiting or running mission; an existing one with the same id is replaced."""
        ...

    async def end(self, mission_id: str) -> None:
        """Record the end of a mission."""
        ...

    async def forgive(self, repository_id: int, *, branch: str) -> None:
        """Reset the attempts on a branch, because a person pushed or asked."""
        ...

    async def offer(self, fix: OfferedFix) -> None:
        """Record an offered fix or its new state; an existing one with the same key is replaced."""
        ...

    async def revise(
        self, key: str, become: Callable[[OfferedFix], OfferedFix]
    ) -> OfferedFix | None:
        """Change a fix atomically: no other write happens between reading and writing it.

        Args:
            key: The key of the fix; the change must not alter it.
            become: Returns the new value; an unchanged value writes nothing. It must do no I/O, and
                may be called in another thread.

        Returns:
            The new value; None if nothing changed or the fix is unknown.
        """
        ...

    async def propose(self, proposal: Proposal) -> None:
        """Record an open decision for a person; an existing one with the same id is replaced."""
        ...

    async def switch(self, switch: Switch) -> None:
        """Record that MetaAgent was turned off or on."""
        ...

    async def note_installation(self, state: InstallationState) -> None:
        """Record the state of an installation."""
        ...


class BlobStore(Protocol):
    """Content-addressed storage for large values, shared by all processes.

    Every method may raise a StoreError: the storage is unreachable or full.
    """

    async def put(self, drawer: Drawer, content: bytes) -> str:
        """Store a value atomically and return its digest; storing it again renews its age.

        Raises:
            BlobRefused: the value exceeds the size limit.
        """
        ...

    async def get(self, drawer: Drawer, digest: str) -> bytes:
        """Return the value with this digest.

        Raises:
            BlobLost: it is missing or corrupt; a retry does not help.
        """
        ...

    async def list_blobs(
        self, kind: BlobKind, owner: str | None = None, *, before: datetime | None = None
    ) -> tuple[Blob, ...]:
        """Return stored values of a kind, filtered by owner and age, oldest first."""
        ...

    async def total_bytes(self, kind: BlobKind) -> int:
        """Return the total size of a kind's stored values, in bytes."""
        ...

    async def drop(self, blobs: Sequence[Blob]) -> None:
        """Delete values; missing ones are ignored."""
        ...

    async def clear_up(self) -> int:
        """Delete incomplete writes of dead processes after a day. Return their number."""
        ...
