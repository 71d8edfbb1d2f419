"""Pages across missions: repositories, lessons, scoreboard, queue and workers."""

from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from bot.dashboard import charts
from bot.dashboard.access import page
from bot.dashboard.queries import Queries
from bot.dashboard.sessions import Session

SPANS = (7, 30, 90, 365)
"""Days that the scoreboard offers."""


@dataclass(frozen=True)
class OverviewPages:
    """Pages across missions.

    Args:
        queries: What they show.
    """

    queries: Queries

    async def repositories(self, _: Request, session: Session) -> Response:
        """Show every readable repository with its fix rate, and what is off there."""
        rows = await self.queries.repositories(session.viewer)
        return page("repositories.html", session=session, here="repositories", rows=rows)

    async def repository(self, request: Request, session: Session) -> Response:
        """Show one repository: what is off and why, and the policy of its last mission."""
        found = await self.queries.repository(request.path_params["repository"], session.viewer)
        return page("repository.html", session=session, here="repositories", found=found)

    async def lessons(self, request: Request, session: Session) -> Response:
        """Show the lessons of one repository; the operator sees all, and those of folders."""
        viewer = session.viewer
        found = await self.queries.lessons(request.query_params.get("repository", ""), viewer)
        places = await self.queries.repositories(viewer)
        return page(
            "lessons.html",
            session=session,
            here="lessons",
            lessons=found.lessons,
            places=[one for one in places if one.repository is not None],
            wanted=found.repository,
        )

    async def scoreboard(self, request: Request, session: Session) -> Response:
        """Show the figures of ended missions."""
        days = request.query_params.get("days", "")
        span = int(days) if days in set(map(str, SPANS)) else 30
        board = await self.queries.scoreboard(span, session.viewer)
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
        found = await self.queries.queue(session.viewer)
        return page("queue.html", session=session, here="queue", **dict(found))
