"""Pages across missions: repositories, lessons, scoreboard, queue and workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from bot.dashboard import charts
from bot.dashboard.access import NOT_FOUND, Refused, page
from bot.dashboard.parts import DashboardParts
from bot.dashboard.sessions import Session
from bot.domain.mission_record import MissionQuery, MissionRecord, RecordState, RepositoryTally
from bot.domain.pause import Pause
from bot.domain.registry import Switch

LESSONS = 100
"""Most lessons on one page."""
ACTIONS = 50
"""Most actions on the page of the queue."""
SPANS = (7, 30, 90, 365)
"""Days that the scoreboard can cover."""


@dataclass(frozen=True)
class OverviewPages:
    """Pages across missions.

    Args:
        parts: The dependencies.
    """

    parts: DashboardParts

    async def repositories(self, _: Request, session: Session) -> Response:
        """Show every readable repository with its fix rate, and what is off there."""
        found = await self.parts.records.repositories(session.viewer.sees)
        off, pauses = await self.parts.registry.switched_off(), await self.parts.pauses.all()
        rows = [(tally, _why_off(tally, off, pauses)) for tally in found]
        return page("repositories.html", session=session, here="repositories", rows=rows)

    async def repository(self, request: Request, session: Session) -> Response:
        """Show one repository: what is off and why, and the policy of its last mission."""
        tally = await self._readable(request.path_params["repository"], session)
        query = MissionQuery(repository=tally.repository, limit=10)
        found = (await self.parts.records.page(query, session.viewer.sees)).missions
        policy: Mapping[str, Any] = {}
        for record in found:
            detail = await self.parts.records.detail(record.mission_id)
            policy = (detail or {}).get("policy") or {}
            if policy:
                break
        return page(
            "repository.html",
            session=session,
            here="repositories",
            tally=tally,
            off=_why_off(
                tally, await self.parts.registry.switched_off(), await self.parts.pauses.all()
            ),
            missions=found,
            policy=policy,
        )

    async def lessons(self, request: Request, session: Session) -> Response:
        """Show the lessons of one repository; the operator sees all, and those of folders."""
        wanted = request.query_params.get("repository", "")
        places = await self.parts.records.repositories(session.viewer.sees)
        key: str | None = None
        if wanted:
            key = str((await self._readable(wanted, session)).repository)
        elif not session.viewer.is_operator:
            key = str(places[0].repository) if places else ""
        found = await self.parts.lessons.entries(repository_id=key, limit=LESSONS)
        return page(
            "lessons.html",
            session=session,
            here="lessons",
            lessons=found,
            places=[one for one in places if one.repository is not None],
            wanted=key or "",
        )

    async def scoreboard(self, request: Request, session: Session) -> Response:
        """Show the figures of ended missions."""
        days = request.query_params.get("days", "")
        span = int(days) if days in set(map(str, SPANS)) else 30
        since = (self.parts.clock.now() - timedelta(days=span)).isoformat()
        board = await self.parts.records.scoreboard(since, session.viewer.sees)
        kinds = [(one.kind, one.fixed, one.missions) for one in board.kinds]
        return page(
            "scoreboard.html",
            session=session,
            here="scoreboard",
            board=board,
            span=span,
            spans=SPANS,
            by_kind=charts.shares("Fixed missions by class of failure", kinds),
            by_day=charts.days("Ended and fixed missions by day", board.days),
            by_time=charts.distribution("Share of missions by time to the verdict", board.seconds),
        )

    async def queue(self, _: Request, session: Session) -> Response:
        """Show what waits and runs; workers, pauses and actions of all are the operator's."""
        viewer = session.viewer
        active: list[MissionRecord] = []
        for state in (RecordState.RUNNING, RecordState.WAITING):
            found = await self.parts.records.page(MissionQuery(state=state), viewer.sees)
            active += found.missions
        pauses = await self.parts.pauses.all()
        return page(
            "queue.html",
            session=session,
            here="queue",
            missions=active,
            pauses=[one for one in pauses if viewer.is_operator or not one.place],
            workers=await self.parts.workers() if viewer.is_operator else (),
            audit=await self.parts.audit.entries(limit=ACTIONS, readable=viewer.sees),
        )

    async def _readable(self, text: str, session: Session) -> RepositoryTally:
        """Return a repository by its id; one that is not readable does not exist.

        Raises:
            Refused: it is unknown, or not readable.
        """
        for tally in await self.parts.records.repositories(session.viewer.sees):
            if tally.repository is not None and str(tally.repository) == text:
                return tally
        raise Refused(*NOT_FOUND)


def _why_off(tally: RepositoryTally, off: Mapping[int, Switch], pauses: tuple[Pause, ...]) -> str:
    """Return why nothing is done in a repository, or an empty text."""
    switch = off.get(tally.repository or 0)
    if switch is not None:
        return f"turned off by {switch.by} on {switch.at[:10]}"
    place = tally.place.lower()
    places = {"", place.partition("/")[0], place}
    return next((one.in_words for one in pauses if one.place in places), "")
