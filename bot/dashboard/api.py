"""The JSON API: the content of the pages for programs, read-only."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Query, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from bot.dashboard.access import COOKIE, Refused, check_origin, is_operators, sealed
from bot.dashboard.parts import DashboardParts
from bot.dashboard.queries import LessonsView, Queries, QueueView, RepositoryStatus, RepositoryView
from bot.dashboard.render import TEXT_CHARS
from bot.domain.dashboard import OPERATOR, Viewer
from bot.domain.mission import Outcome
from bot.domain.mission_record import (
    MOST_PAGE,
    PAGE,
    ClassTally,
    MissionPage,
    MissionQuery,
    MissionView,
    RecordState,
)
from bot.domain.since import read_since
from bot.errors import MetaAgentError, UsageError
from bot.registry.view import view_mission
from sandbox.gate import Needles, clean
from sandbox.types import Frozen

log = logging.getLogger(__name__)

VERSION = "1"
"""Version of the API; the running version of MetaAgent is not for strangers."""
LARGEST = 10**15
"""Largest number in a query: a 64-bit integer of a database holds it."""
NAME_CHARS = 100
"""Longest name that an error repeats, in characters."""
UNKNOWN = 401
"""Status for a person whom we do not know."""
PLAIN = r"^[^\x00-\x1f]*$"
"""A text without control characters: PostgreSQL refuses NUL."""
MOST_DAYS = 365
"""Longest time that the scoreboard covers, in days."""

Bearer = Annotated[
    HTTPAuthorizationCredentials | None,
    Security(HTTPBearer(auto_error=False, description="The operator's token.")),
]
Cookie = Annotated[
    str | None,
    Security(
        APIKeyCookie(
            name=COOKIE, auto_error=False, description="The session of a signed-in person."
        )
    ),
]
Name = Annotated[str, Path(max_length=NAME_CHARS)]


class Problem(Frozen):
    """The body of every answer that is no success."""

    detail: str
    """The reason."""


class MissionFilter(Frozen):
    """A selection of missions."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    repository: str = Field(default="", max_length=200, pattern=PLAIN)
    """Only of this repository, `owner/name`, or of this folder."""
    outcome: Outcome | None = None
    """Only with this outcome."""
    state: RecordState | None = None
    """Only in this state."""
    since: str = Field(default="", max_length=40)
    """Only those that were queued or ended since then: an age such as `12h`, or a date."""
    before: int | None = Field(default=None, ge=1, le=LARGEST)
    """Only older ones: `next` of the previous page."""
    limit: int = Field(default=PAGE, ge=1, le=MOST_PAGE)
    """Most missions of one page."""


class RepositoriesView(Frozen):
    """The readable repositories."""

    repositories: tuple[RepositoryStatus, ...]
    """The one with the latest mission first."""


class ScoreboardView(Frozen):
    """Figures of the missions that ended in the last days."""

    missions: int
    outcomes: dict[str, int]
    """Missions by outcome; under an empty name those that were stopped without a report."""
    fates: dict[str, int]
    """Offered fixes by what became of them."""
    kinds: tuple[ClassTally, ...]
    """The most frequent classes of failures."""
    days: dict[str, tuple[int, int]]
    """By day: ended missions, and fixes among them."""
    median_s: float | None
    """Median time to the verdict, in seconds."""
    ninety_percent_s: float | None
    """Time to the verdict that nine of ten missions stay within, in seconds."""
    cost_usd: float
    cost_per_accepted_usd: float | None
    """Cost of all missions per merged fix."""
    reverted_rate: float | None
    """Share of reverted fixes among the merged ones."""


_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in (
        (400, "The Host header is malformed."),
        (UNKNOWN, "Neither a valid session nor the operator's token was sent."),
        (403, "The connection could be eavesdropped: it is neither https nor local."),
        (422, "A parameter is invalid."),
        (503, "The database does not answer."),
    )
}
_HIDDEN: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "It is unknown, or this person cannot read it."}
}


def create_api(parts: DashboardParts) -> FastAPI:
    """Return the application that answers under `/api`.

    Args:
        parts: The dependencies.
    """
    api = _Api(parts, Queries(parts))
    app = FastAPI(
        title="MetaAgent",
        description="Missions, repositories, lessons and figures. A person reads what they can read"
        " on GitHub; anything else is answered as if it did not exist.",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(api.sign_in)],
        # Names of functions in generated clients.
        generate_unique_id_function=lambda route: route.name,
        responses=_PROBLEMS,
    )

    app.get("/missions", response_model=MissionPage)(api.missions)
    app.get("/missions/{mission_id}", response_model=MissionView, responses=_HIDDEN)(api.mission)
    app.get("/repositories", response_model=RepositoriesView)(api.repositories)
    app.get("/repositories/{owner}/{name}", response_model=RepositoryView, responses=_HIDDEN)(
        api.repository
    )
    app.get("/lessons", response_model=LessonsView, responses=_HIDDEN)(api.lessons)
    app.get("/scoreboard", response_model=ScoreboardView)(api.scoreboard)
    app.get("/queue", response_model=QueueView)(api.queue)
    app.middleware("http")(_seal)
    for kind in (Refused, RequestValidationError, MetaAgentError):
        app.exception_handler(kind)(_refuse)
    return app


@dataclass(frozen=True)
class _Api:
    """The answers of the API.

    Args:
        parts: The dependencies.
        queries: The queries of the pages.
    """

    parts: DashboardParts
    queries: Queries

    async def sign_in(self, request: Request, bearer: Bearer, cookie: Cookie) -> None:
        """Find out who asks.

        Raises:
            Refused: the connection could be eavesdropped, or the person is unknown.
        """
        check_origin(request, self.parts.public_url)
        if bearer is not None:
            if is_operators(bearer.credentials, self.parts.token):
                request.state.viewer = OPERATOR
                return
            self.parts.wrong_tokens.note()
            raise Refused(UNKNOWN, "Not signed in", "This token is wrong.")
        session = await self.parts.sessions.find(cookie)
        if session is None:
            raise Refused(UNKNOWN, "Not signed in", "Send the operator's token or a session.")
        request.state.viewer = session.viewer

    async def missions(
        self, request: Request, wanted: Annotated[MissionFilter, Query()]
    ) -> Response:
        """List missions, newest first."""
        query = MissionQuery(
            place=wanted.repository,
            since=read_since(wanted.since, self.parts.clock.now()),
            **wanted.model_dump(include={"outcome", "state", "before", "limit"}),
        )
        return self._answer(await self.parts.records.page(query, _viewer(request).sees))

    async def mission(self, request: Request, mission_id: str) -> Response:
        """Show one mission with its stages, its detail and the actions on it."""
        viewer = _viewer(request)
        record = await self.queries.mission(mission_id, viewer)
        return self._answer(
            await view_mission(record, self.parts.records, self.parts.audit, viewer.sees)
        )

    async def repositories(self, request: Request) -> Response:
        """List the 500 readable repositories with the latest missions, and what is off there."""
        found = await self.queries.repositories(_viewer(request))
        return self._answer(RepositoriesView(repositories=found))

    async def repository(self, request: Request, owner: Name, name: Name) -> Response:
        """Show one repository with its latest missions and its policy."""
        return self._answer(await self.queries.repository(f"{owner}/{name}", _viewer(request)))

    async def lessons(
        self,
        request: Request,
        repository: Annotated[str, Query(max_length=200, description="Only of this one.")] = "",
    ) -> Response:
        """List the newest 100 lessons of a repository, `owner/name` or its id.

        Without it, the operator gets the lessons of all repositories and of folders, and others
        those of their repository with the latest mission.
        """
        return self._answer(await self.queries.lessons(repository, _viewer(request)))

    async def scoreboard(
        self,
        request: Request,
        days: Annotated[int, Query(ge=1, le=MOST_DAYS, description="Length of the time.")] = 30,
    ) -> Response:
        """Show the figures of the missions that ended in the last days."""
        board = await self.queries.scoreboard(days, _viewer(request))
        found = ScoreboardView(
            **board.model_dump(include={"outcomes", "fates", "kinds", "days", "cost_usd"}),
            missions=board.missions,
            median_s=board.quantile(0.5),
            ninety_percent_s=board.quantile(0.9),
            cost_per_accepted_usd=board.cost_per_accepted,
            reverted_rate=board.reverted_rate,
        )
        return self._answer(found)

    async def queue(self, request: Request) -> Response:
        """Show the newest 50 running and 50 waiting missions, pauses and the latest actions.

        Workers, and pauses of single places, are shown to the operator only.
        """
        return self._answer(await self.queries.queue(_viewer(request)))

    def _answer(self, found: BaseModel) -> JSONResponse:
        """Return a value as JSON, sanitized whatever stored it."""
        return JSONResponse(_sanitized(found.model_dump(mode="json"), self.parts.secrets))


def _viewer(request: Request) -> Viewer:
    found: Viewer = request.state.viewer
    return found


def _sanitized(value: Any, secrets: Needles) -> Any:
    """Return plain data without secrets, control and hidden characters, and odd numbers."""
    if isinstance(value, str):
        return clean(value, cap=TEXT_CHARS, secrets=secrets)
    if isinstance(value, dict):
        return {_sanitized(key, secrets): _sanitized(one, secrets) for key, one in value.items()}
    if isinstance(value, list):
        return [_sanitized(one, secrets) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no such number
    return value


async def _seal(request: Request, call_next: Callable[[Request], Any]) -> Response:
    """Add the security headers to every answer."""
    return sealed(await call_next(request))


async def _refuse(_: Request, error: Exception) -> Response:
    """Answer a request that fails, in the same form for every reason."""
    headers = None
    match error:
        case Refused(status=status, title=title, text=text):
            detail = f"{title}. {text}"
            headers = {"www-authenticate": "Bearer"} if status == UNKNOWN else None
        case RequestValidationError():
            first = error.errors()[0]
            # The name of an unknown parameter is a stranger's.
            name = clean(str(first["loc"][-1]), cap=NAME_CHARS)
            status, detail = 422, f"{name}: {first['msg']}"
        case UsageError():
            status, detail = 422, f"{error.message}: {error.advice}"
        case MetaAgentError(message=message):
            log.warning("API request failed: %s", message)
            status, detail = 503, "The database does not answer. Try again later."
        case _:
            raise error
    return JSONResponse({"detail": detail}, status, headers)
