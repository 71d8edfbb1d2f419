"""The routes of the dashboard. Each one is checked here: address, session, form, then the page."""

import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from bot.dashboard.access import (
    COOKIE,
    NOT_FOUND,
    PATHS,
    Refused,
    check_origin,
    is_operators,
    page,
    read_form,
    sealed,
    session_of,
    set_session,
)
from bot.dashboard.missions import MissionPages
from bot.dashboard.overview import OverviewPages
from bot.dashboard.parts import DashboardParts
from bot.dashboard.queries import Queries
from bot.dashboard.render import BASE, STATIC, static_file
from bot.dashboard.sessions import Session
from bot.domain.dashboard import OPERATOR, Viewer
from bot.domain.mission_record import AuditEntry
from bot.errors import GitHubError, MetaAgentError

STATE_COOKIE = "metaagent_state"
"""Binds a sign-in at GitHub to the browser that began it."""
STATE_S = 600
"""Time limit of a sign-in at GitHub, in seconds."""

log = logging.getLogger(__name__)

Answer = Callable[[Request, Session], Awaitable[Response]]
"""Answers a signed-in person."""


def dashboard_router(parts: DashboardParts) -> APIRouter:
    """Return the routes of the dashboard."""
    router = APIRouter(include_in_schema=False)
    queries = Queries(parts)
    door, missions, overview = _Door(parts), MissionPages(parts, queries), OverviewPages(queries)

    def add(method: str, path: str, call: Callable[[Request], Awaitable[Response]]) -> None:
        async def endpoint(request: Request) -> Response:
            return sealed(await _guarded(request, call))

        router.add_api_route(f"{BASE}{path}", endpoint, methods=[method])

    def signed_in(method: str, path: str, answer: Answer) -> None:
        async def call(request: Request) -> Response:
            origin = check_origin(request, parts.public_url)
            session = await session_of(request, parts.sessions)
            if session is None:
                if method != "GET":
                    raise Refused(401, "Not signed in", "Your session has ended. Sign in again.")
                return RedirectResponse(f"{BASE}/sign-in", 303)
            if method != "GET":
                request.state.form = await read_form(request, origin, session)
            return await answer(request, session)

        add(method, path, call)

    signed_in("GET", "", missions.list)
    signed_in("GET", "/missions", missions.list)
    signed_in("GET", "/missions/{mission_id}", missions.show)
    signed_in("GET", "/missions/{mission_id}/events", missions.events)
    signed_in("GET", "/missions/{mission_id}/evidence", missions.evidence)
    signed_in("POST", "/missions/{mission_id}/cancel", missions.cancel)
    signed_in("POST", "/missions/{mission_id}/retry", missions.retry)
    signed_in("GET", "/repositories", overview.repositories)
    signed_in("GET", "/repositories/{repository}", overview.repository)
    signed_in("GET", "/lessons", overview.lessons)
    signed_in("GET", "/scoreboard", overview.scoreboard)
    signed_in("GET", "/queue", overview.queue)
    signed_in("POST", "/sign-out", door.leave)
    add("GET", "/sign-in", door.show)
    add("POST", "/sign-in", door.enter)
    add("GET", "/sign-in/github", door.to_github)
    add("GET", "/signed-in", door.from_github)
    add("GET", "/static/{name}", _static)
    return router


async def _guarded(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    """Answer a request; every refusal and every error of ours is a page."""
    try:
        return await call(request)
    except Refused as refused:
        return page(
            "refused.html",
            refused.status,
            session=None,
            here="",
            title=refused.title,
            text=refused.text,
        )
    except MetaAgentError as error:
        log.warning("dashboard page failed: %s", error.message)
        text = "The database or the queue does not answer. The log of the service says more."
        return page("refused.html", 503, session=None, here="", title="Not now", text=text)


async def _static(request: Request) -> Response:
    """Send a style sheet or a script."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise Refused(*NOT_FOUND)
    content, _ = static_file(name)
    # Its address changes with its content.
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(content, media_type=STATIC[name], headers=headers)


@dataclass(frozen=True)
class _Door:
    """Signing in and out."""

    parts: DashboardParts

    async def show(self, request: Request) -> Response:
        """Show the ways to sign in."""
        check_origin(request, self.parts.public_url)
        if await session_of(request, self.parts.sessions) is not None:
            return RedirectResponse(BASE, 303)
        return self._page()

    async def enter(self, request: Request) -> Response:
        """Admit the operator."""
        origin = check_origin(request, self.parts.public_url)
        given = (await read_form(request, origin, None)).get("token", "").strip()
        if not is_operators(given, self.parts.token):
            # Not in the audit log, which strangers could fill.
            self.parts.wrong_tokens.note()
            return self._page("This token is wrong.", 403)
        return await self._admit(OPERATOR, origin)

    async def to_github(self, request: Request) -> Response:
        """Send a person to GitHub."""
        origin = check_origin(request, self.parts.public_url)
        if self.parts.sign_in is None:
            raise Refused(*NOT_FOUND)
        state = secrets.token_urlsafe(32)
        address = self.parts.sign_in.address(state, f"{origin}{BASE}/signed-in")
        response = RedirectResponse(address, 303)
        response.set_cookie(
            STATE_COOKIE,
            state,
            max_age=STATE_S,
            path=f"{BASE}/signed-in",
            httponly=True,
            samesite="lax",
            secure=origin.startswith("https:"),
        )
        return response

    async def from_github(self, request: Request) -> Response:
        """Admit a person whom GitHub sends back to the browser that began."""
        origin = check_origin(request, self.parts.public_url)
        if self.parts.sign_in is None:
            raise Refused(*NOT_FOUND)
        known = request.cookies.get(STATE_COOKIE, "").encode("utf-8", "surrogateescape")
        given = request.query_params.get("state", "").encode("utf-8", "replace")
        if not known or not hmac.compare_digest(known, given):
            raise Refused(403, "Not from here", "This sign-in was not started in this browser.")
        code = request.query_params.get("code", "")
        try:
            viewer = await self.parts.sign_in.viewer(code, f"{origin}{BASE}/signed-in")
        except GitHubError as error:
            log.warning("sign-in failed: %s", error.message)
            return self._page("GitHub did not confirm the sign-in. Try again.", 502)
        response = await self._admit(viewer, origin)
        response.delete_cookie(STATE_COOKIE, path=f"{BASE}/signed-in")
        return response

    async def leave(self, request: Request, session: Session) -> Response:
        """End the session."""
        await self.parts.sessions.end(request.cookies.get(COOKIE))
        await self._note(session.viewer.login, "signed out")
        response = RedirectResponse(f"{BASE}/sign-in", 303)
        for path in PATHS:
            response.delete_cookie(COOKIE, path=path)
        return response

    async def _admit(self, viewer: Viewer, origin: str) -> Response:
        secret = await self.parts.sessions.start(viewer)
        await self._note(viewer.login, "signed in")
        response = RedirectResponse(BASE, 303)
        set_session(response, secret, origin, self.parts.options.session_hours)
        return response

    async def _note(self, login: str, result: str) -> None:
        at = self.parts.clock.now().isoformat()
        entry = AuditEntry(at=at, actor=login, action="sign in", place="dashboard", result=result)
        await self.parts.audit.note(entry)

    def _page(self, wrong: str = "", status: int = 200) -> Response:
        return page(
            "sign_in.html",
            status,
            session=None,
            here="",
            wrong=wrong,
            by_token=self.parts.token is not None,
            by_github=self.parts.sign_in is not None,
        )
