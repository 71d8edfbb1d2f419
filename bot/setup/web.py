"""The routes of set-up: the code, the App's form, the redirect to GitHub and back."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from bot.errors import MetaAgentError, SettingsError
from bot.github.manifest import NewApp, creation_url, manifest
from bot.github.names import web_url
from bot.settings import Settings
from bot.setup import pages
from bot.setup.door import Door
from bot.setup.requests import RequestRefused, check_app, check_origin, public_address, read_form
from bot.setup.stored import make_room, store_app

COOKIE = "metaagent_setup"

Exchange = Callable[[str], Awaitable[tuple[NewApp, str]]]
"""Exchanges GitHub's code for the App and its webhook secret."""


@dataclass(frozen=True)
class SetUp:
    """The set-up pages and the services they need."""

    settings: Settings
    door: Door
    exchange: Exchange
    done: Callable[[NewApp], None]
    """Called when the App is stored."""

    async def show(self, request: Request, origin: str) -> Response:
        """Answer with the first page."""
        if not self.door.knows(request.cookies.get(COOKIE)):
            used = "The code was used in another browser. Restart MetaAgent for a new one."
            return HTMLResponse(pages.code_page(wrong=used if self.door.is_used else ""))
        name = f"MetaAgent {secrets.token_hex(2)}"
        address = public_address(self.settings, origin)
        return HTMLResponse(pages.app_page(name=name, organization="", address=address))

    async def enter(self, request: Request, origin: str) -> Response:
        """Check the code and start a session."""
        session = self.door.enter((await read_form(request, origin)).get("code", "").strip())
        if session is None:
            return HTMLResponse(
                pages.code_page(wrong="This code is wrong or was used already."), 403
            )
        response = RedirectResponse("/setup", 303)
        secure = origin.startswith("https:")
        response.set_cookie(
            COOKIE, session, path="/setup", httponly=True, samesite="lax", secure=secure
        )
        return response

    async def prepare(self, request: Request, origin: str) -> Response:
        """Show the permissions that GitHub will ask to confirm."""
        form = await read_form(request, origin)
        if not self.door.knows(request.cookies.get(COOKIE)):
            raise RequestRefused(
                pages.code_page(wrong="Enter the code from the console first."), 403
            )
        name, organization = (form.get(field, "").strip() for field in ("name", "organization"))
        public = form.get("address", "").strip().rstrip("/")
        try:
            check_app(self.settings, name=name, organization=organization, public=public)
            make_room(self.settings.data_dir)
        except SettingsError as error:
            wrong = f"{error.message}: {error.advice}."
            page = pages.app_page(name=name, organization=organization, address=public, wrong=wrong)
            return HTMLResponse(page, 422)
        choices = {name: name in form for name in ("reruns", "dashboards")}
        content = manifest(name=name, page=origin, public=public, **choices)
        action = creation_url(self.settings.github_api_url, organization, self.door.leave())
        return HTMLResponse(pages.manifest_page(content, action))

    async def created(self, request: Request, _: str) -> Response:
        """Handle GitHub's redirect back."""
        query = request.query_params
        if not self.door.returns(request.cookies.get(COOKIE), query.get("state", "")):
            advice = "Open /setup in the browser that you started with, and try again."
            raise RequestRefused(
                pages.refusal_page("Not from here", "This redirect was not started here.", advice),
                403,
            )
        try:
            app, secret = await self.exchange(query.get("code", ""))
        except MetaAgentError as error:
            advice = "Open /setup and try again; if GitHub created the App, delete it first."
            raise RequestRefused(
                pages.refusal_page("GitHub refused", error.message, advice), 502
            ) from error
        api_url = self.settings.github_api_url
        try:
            store_app(self.settings.data_dir, app, webhook_secret=secret, api_url=api_url)
        except SettingsError as error:
            advice = (
                f"{error.advice}. The App was created: delete it at {app.html_url}, and try again."
            )
            raise RequestRefused(
                pages.refusal_page("Not stored", error.message, advice), 500
            ) from error
        self.door.is_closed = True
        self.done(app)
        return RedirectResponse(f"{app.html_url}/installations/new", 303)


Answer = Callable[[Request, str], Awaitable[Response]]
"""Answers a request; its second argument is the pages' origin."""


def setup_router(setup: SetUp) -> APIRouter:
    """Return the set-up routes; they answer only until the App is stored."""
    router = APIRouter()

    def route(method: str, path: str, answer: Answer) -> None:
        async def endpoint(request: Request) -> Response:
            try:
                response = await answer(
                    request, check_origin(request, setup.settings, is_closed=setup.door.is_closed)
                )
            except RequestRefused as refused:
                response = HTMLResponse(refused.page, refused.status)
            return _seal(response, setup)

        router.add_api_route(path, endpoint, methods=[method])

    route("GET", "/setup", setup.show)
    route("POST", "/setup/enter", setup.enter)
    route("POST", "/setup/manifest", setup.prepare)
    route("GET", "/setup/created", setup.created)
    return router


def _seal(response: Response, setup: SetUp) -> Response:
    """Add security headers: no frames, cache, foreign content or full referrer."""
    response.headers["content-security-policy"] = pages.policy(
        web_url(setup.settings.github_api_url)
    )
    response.headers["x-frame-options"] = "DENY"
    response.headers["x-content-type-options"] = "nosniff"
    response.headers["cache-control"] = "no-store"
    # With a stricter value, browsers would send `Origin: null` with forms.
    response.headers["referrer-policy"] = "strict-origin"
    return response
