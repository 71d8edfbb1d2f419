"""Serve the set-up pages until the App is stored."""

import socket
from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import RedirectResponse

from bot import __version__
from bot.clock import SystemClock
from bot.errors import SettingsError
from bot.front.health import health_router
from bot.github.app_client import AppClient
from bot.github.app_facts import AppFacts
from bot.github.manifest import NewApp, convert
from bot.private import forbid_core_dumps
from bot.settings import APP_FILE, Settings
from bot.setup.door import Door
from bot.setup.stored import make_room
from bot.setup.web import SetUp, setup_router

NO_APP = "a GitHub App: open /setup with the code from the console"

Tell = Callable[[str], None]
"""Prints a message on the console."""


def run_setup(settings: Settings, tell: Tell) -> Path:
    """Wait until someone with the code has created an App; store it and return its file.

    Args:
        settings: The address to listen on, GitHub's API and the data directory.
        tell: Prints on the console; the code goes there and nowhere else.

    Raises:
        SettingsError: an App is set up already, it cannot be stored, or the port is taken.
    """
    from bot.front.server import GuardedServer

    forbid_core_dumps()
    if not settings.needs_setup:
        raise SettingsError("an App is set up already", "check it with `metaagent doctor`")
    make_room(settings.data_dir)
    made: list[NewApp] = []

    def done(app: NewApp) -> None:
        made.append(app)
        server.should_exit = True

    door = Door(SystemClock())
    app = create_setup_app(settings, door, done)
    server = GuardedServer(app, settings.http)
    with _listening(settings.host, settings.port) as listener:
        tell(_invitation(settings, listener.getsockname()[1], door.code))
        server.run(sockets=[listener])
    path = settings.data_dir / APP_FILE
    if not made:
        raise SettingsError("set-up was stopped before an App was created", "start it again")
    page = made[0].html_url
    tell(f"The App {made[0].slug} is stored in {path}. Choose its repositories: {page}")
    return path


def create_setup_app(settings: Settings, door: Door, done: Callable[[NewApp], None]) -> FastAPI:
    """Return the application for set-up, which has these pages only."""

    async def exchange(code: str) -> tuple[NewApp, str]:
        return await new_app(settings.github_api_url, code)

    app = FastAPI(
        title="MetaAgent", version=__version__, docs_url=None, redoc_url=None, openapi_url=None
    )
    app.include_router(setup_router(SetUp(settings, door, exchange, done)))

    @app.get("/")
    async def begin() -> RedirectResponse:
        """Redirect to set-up."""
        return RedirectResponse("/setup")

    async def missing() -> tuple[str, ...]:
        return (NO_APP,)

    app.include_router(health_router(lambda: True, missing))
    return app


async def new_app(api_url: str, code: str) -> tuple[NewApp, str]:
    """Return the App behind GitHub's code and its webhook secret, which is set if GitHub made none.

    Raises:
        MetaAgentError: the code is invalid, or GitHub failed.
    """
    import secrets

    app = await convert(api_url, code)
    if app.webhook_secret is not None and app.webhook_secret.get_secret_value():
        return app, app.webhook_secret.get_secret_value()
    secret = secrets.token_hex(32)
    client = AppClient(str(app.id), app.pem, api_url)
    try:
        await AppFacts(client).set_hook_secret(secret)
    finally:
        await client.aclose()
    return app, secret


def _listening(host: str, port: int) -> socket.socket:
    """Return a listening socket, bound before the console shows the address.

    Raises:
        SettingsError: the address cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise SettingsError(
            f"{host}:{port} cannot be used ({error.strerror})", "choose another --port"
        ) from error


def _invitation(settings: Settings, port: int, code: str) -> str:
    """Return the console's message; the code is in the URL's fragment, which no server logs."""
    address = settings.public_url or f"http://localhost:{port}"
    return (
        f"MetaAgent is not set up yet. Open\n\n    {address.rstrip('/')}/setup#{code}\n\n"
        f"in your browser (or enter the code {code} at /setup). It works once.\n"
        "Keep it secret: it admits anyone who has it."
    )
