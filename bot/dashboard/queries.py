"""The queries of pages and API, each limited to the repositories that a person can read."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pydantic import Field, ValidationError

from bot.dashboard.access import NOT_FOUND, Refused
from bot.dashboard.parts import DashboardParts, Worker
from bot.domain.dashboard import Viewer
from bot.domain.diagnosis import Triage
from bot.domain.lesson import Lesson
from bot.domain.mission import Outcome
from bot.domain.mission_record import (
    AuditEntry,
    MissionQuery,
    MissionRecord,
    RecordState,
    RepositoryTally,
    Scoreboard,
)
from bot.domain.pause import Pause
from bot.domain.registry import Switch
from sandbox.types import Frozen

LONGEST_ID = 300
"""Longest mission id in an address, in characters."""
LATEST = 10
"""Missions that are shown with a repository."""
LESSONS = 100
"""Most lessons in one answer."""
FLAKES = 50
"""Newest flaky missions of a repository whose tests are counted."""
ACTIONS = 50
"""Most actions that are shown with the queue."""


class RepositoryStatus(RepositoryTally):
    """Figures of one repository, and whether missions run there."""

    off: str = ""
    """The reason why no mission runs there; empty if missions run."""


class FlakyTest(Frozen):
    """A test that passed in some runs of a commit and failed in others."""

    name: str
    missions: int
    """Flaky missions in which it did."""
    reds: int
    """Red runs in them."""
    runs: int
    """All runs in them."""
    newest: str
    """When the latest of them ended."""


class RepositoryView(RepositoryStatus):
    """One repository with its latest missions and its policy."""

    latest: tuple[MissionRecord, ...] = ()
    """Its newest missions."""
    flakes: tuple[FlakyTest, ...] = ()
    """The flaky tests of the newest flaky missions, the most frequent first."""
    policy: dict[str, Any] = Field(default_factory=dict)
    """The policy of the newest mission whose detail is stored."""


class LessonsView(Frozen):
    """Lessons of one repository or of all, newest first."""

    repository: int | None = None
    """GitHub's id of their repository; None for all of them, which only the operator sees."""
    lessons: tuple[Lesson, ...] = ()


class QueueView(Frozen):
    """Waiting and running missions, and the processes that run them."""

    missions: tuple[MissionRecord, ...] = ()
    """Running and waiting missions."""
    pauses: tuple[Pause, ...] = ()
    workers: tuple[Worker, ...] = ()
    """Processes with a heartbeat, for the operator only; none on SQLite."""
    audit: tuple[AuditEntry, ...] = ()
    """The latest writes to GitHub and actions of people, newest first."""


@dataclass(frozen=True)
class Queries:
    """The queries of pages and API. Every method may raise a StoreError.

    Args:
        parts: The dependencies.
    """

    parts: DashboardParts

    async def mission(self, mission_id: str, viewer: Viewer) -> MissionRecord:
        """Return a mission; one that is not readable does not exist.

        Raises:
            Refused: it is unknown, or not readable.
        """
        record = None
        if len(mission_id) <= LONGEST_ID and mission_id.isprintable():
            record = await self.parts.records.find(mission_id, viewer.sees)
        if record is None:
            raise Refused(*NOT_FOUND)
        return record

    async def repositories(self, viewer: Viewer) -> tuple[RepositoryStatus, ...]:
        """Return every readable repository, the latest mission first."""
        off, pauses = await self.parts.registry.switched_off(), await self.parts.pauses.all()
        return tuple(
            RepositoryStatus(**dict(tally), off=_why_off(tally, off, pauses))
            for tally in await self.parts.records.repositories(viewer.sees)
        )

    async def repository(self, wanted: str, viewer: Viewer) -> RepositoryView:
        """Return one repository with its latest missions and its policy.

        Args:
            wanted: Its id or its full name.
            viewer: The person.

        Raises:
            Refused: it is unknown, or not readable.
        """
        status = await self._find(wanted, viewer)
        query = MissionQuery(repository=status.repository, limit=LATEST)
        latest = (await self.parts.records.page(query, viewer.sees)).missions
        policy: dict[str, Any] = {}
        for record in latest:
            detail = await self.parts.records.detail(record.mission_id)
            found = (detail or {}).get("policy")
            if isinstance(found, dict) and found:
                policy = found
                break
        flakes = await self._flakes(status.repository, viewer)
        return RepositoryView(**dict(status), latest=latest, policy=policy, flakes=flakes)

    async def _flakes(self, repository: int | None, viewer: Viewer) -> tuple[FlakyTest, ...]:
        query = MissionQuery(repository=repository, outcome=Outcome.FLAKY, limit=FLAKES)
        found: dict[str, FlakyTest] = {}
        for record in (await self.parts.records.page(query, viewer.sees)).missions:
            detail = await self.parts.records.detail(record.mission_id)
            try:
                triage = Triage.model_validate((detail or {}).get("triage"))
            except ValidationError:
                continue
            for name, reds in triage.per_test_reds.items():
                if 0 < reds < triage.runs:
                    before = found.get(name)
                    found[name] = FlakyTest(
                        name=name,
                        missions=1 + (before.missions if before else 0),
                        reds=reds + (before.reds if before else 0),
                        runs=triage.runs + (before.runs if before else 0),
                        newest=before.newest if before else record.ended_at,
                    )
        return tuple(sorted(found.values(), key=lambda one: -one.missions))

    async def lessons(self, wanted: str, viewer: Viewer) -> LessonsView:
        """Return the newest lessons of a repository.

        Args:
            wanted: Its id or its full name. If empty, the operator gets the lessons of all and of
                folders, and others those of their repository with the latest mission.
            viewer: The person.

        Raises:
            Refused: the repository is unknown, or not readable.
        """
        repository: int | None = None
        if wanted:
            repository = (await self._find(wanted, viewer)).repository
        elif not viewer.is_operator:
            readable = await self.parts.records.repositories(viewer.sees)
            repository = readable[0].repository if readable else None
        if repository is None and not viewer.is_operator:
            return LessonsView()
        key = None if repository is None else str(repository)
        found = await self.parts.lessons.entries(repository_id=key, limit=LESSONS)
        return LessonsView(repository=repository, lessons=found)

    async def scoreboard(self, days: int, viewer: Viewer) -> Scoreboard:
        """Return the figures of the missions that ended in the last days."""
        since = (self.parts.clock.now() - timedelta(days=days)).isoformat()
        return await self.parts.records.scoreboard(since, viewer.sees)

    async def queue(self, viewer: Viewer) -> QueueView:
        """Return what waits and runs; workers, pauses and actions of all are the operator's."""
        active: list[MissionRecord] = []
        for state in (RecordState.RUNNING, RecordState.WAITING):
            found = await self.parts.records.page(MissionQuery(state=state), viewer.sees)
            active += found.missions
        pauses = await self.parts.pauses.all()
        return QueueView(
            missions=tuple(active),
            pauses=tuple(one for one in pauses if viewer.is_operator or not one.place),
            workers=await self.parts.workers() if viewer.is_operator else (),
            audit=await self.parts.audit.entries(limit=ACTIONS, readable=viewer.sees),
        )

    async def _find(self, wanted: str, viewer: Viewer) -> RepositoryStatus:
        """Return a repository by its id or full name; one that is not readable does not exist.

        Raises:
            Refused: it is unknown, or not readable.
        """
        for status in await self.repositories(viewer):
            # GitHub's names are case-insensitive.
            names = {str(status.repository), status.place.lower()}
            if status.repository is not None and wanted.lower() in names:
                return status
        raise Refused(*NOT_FOUND)


def _why_off(tally: RepositoryTally, off: Mapping[int, Switch], pauses: tuple[Pause, ...]) -> str:
    """Return why nothing is done in a repository, or an empty text."""
    switch = off.get(tally.repository or 0)
    if switch is not None:
        return f"turned off by {switch.by} on {switch.at[:10]}"
    place = tally.place.lower()
    places = {"", place.partition("/")[0], place}
    return next((one.in_words for one in pauses if one.place in places), "")
