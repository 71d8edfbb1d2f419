"""The permanent records of missions, and the audit log."""

from collections.abc import Collection
from typing import Protocol

from bot.domain.mission import Outcome
from bot.domain.mission_record import (
    AuditEntry,
    Detail,
    MissionPage,
    MissionQuery,
    MissionRecord,
    RepositoryTally,
    Scoreboard,
    StageMark,
)

Readable = Collection[int] | None
"""The ids of the repositories whose missions a person may see; None means all, and folders."""


class MissionRecords(Protocol):
    """The table of missions. Every method may raise a StoreError."""

    async def enqueue(self, record: MissionRecord) -> None:
        """Record a waiting mission; an ended one with the same id starts over as the newest."""
        ...

    async def stage(self, mission_id: str, mark: StageMark) -> None:
        """Record the start of a stage; the first one begins the mission."""
        ...

    async def finish(self, record: MissionRecord, detail: Detail | None = None) -> None:
        """Record the end of a mission with its outcome. Repeating it changes nothing.

        The fate of an offered fix stays as it is.
        """
        ...

    async def stop(
        self, mission_id: str, at: str, outcome: Outcome | None = None, reason: str = ""
    ) -> None:
        """Record the end of a mission that did not report itself.

        An outcome that is known already stays.
        """
        ...

    async def ask_stop(self, mission_id: str, by: str) -> bool:
        """Ask the workers to stop a mission. Return False if it has ended or is unknown."""
        ...

    async def asked_to_stop(self) -> dict[str, str]:
        """Return the active missions that are to stop, with the person who asked."""
        ...

    async def find(self, mission_id: str, readable: Readable = None) -> MissionRecord | None:
        """Return one mission; None if it is unknown or not readable."""
        ...

    async def stages(self, mission_id: str) -> tuple[StageMark, ...]:
        """Return the stages of a mission, in order."""
        ...

    async def detail(self, mission_id: str) -> Detail | None:
        """Return the stored detail of a mission; None once it has expired."""
        ...

    async def page(self, query: MissionQuery, readable: Readable = None) -> MissionPage:
        """Return a page of missions, newest first."""
        ...

    async def repositories(self, readable: Readable = None) -> tuple[RepositoryTally, ...]:
        """Return the figures of each repository, the latest mission first."""
        ...

    async def count_fixes(self, place: str) -> tuple[int, int]:
        """Return the open fixes and the fixed missions of a repository by its full name.

        A name may have belonged to another repository; the one that used it last counts.
        """
        ...

    async def scoreboard(self, since: str = "", readable: Readable = None) -> Scoreboard:
        """Return the figures of missions that ended from a time on."""
        ...


class AuditLog(Protocol):
    """The log of writes to GitHub and of people's actions."""

    async def note(self, entry: AuditEntry) -> None:
        """Add an entry. Never raises: the action has happened already."""
        ...

    async def entries(
        self, *, since: str = "", mission: str = "", limit: int = 100, readable: Readable = None
    ) -> tuple[AuditEntry, ...]:
        """Return the newest entries first.

        Raises:
            StoreError: they cannot be read.
        """
        ...
