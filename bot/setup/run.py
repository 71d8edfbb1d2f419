"""Listen for the person who sets up, until the App is stored."""

import socket
from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import RedirectResponse

from bot import __version__
from bot.clock import SystemClock
from bot.errors import SettingsError
from bot.github.app_client import AppClient
from bot.github.app_facts import AppFacts
from bot.github.manifest import NewApp, convert
from bot.health import health_router
from bot.private import forbid_core_dumps
from bot.settings import APP_FILE, Settings
from bot.setup.door import Door
from bot.setup.stored import make_room
from bot.setup.web import SetUp, setup_router

NO_APP = "a GitHub App: open /setup with the code from the console"

Tell = Callable[[str], None]
"""Says something on the console."""


def run_setup(settings: Settings, tell: Tell) -> Path:
    """Wait until somebody with the console's code made an App, and store it; the file it is in.

    Args:
        settings: Where to listen, which GitHub, where the App is kept.
        tell: The console; the code goes there and nowhere else.

    Raises:
        SettingsError: an App is set already, nothing can be stored, or the port is taken.
    """
    from bot.front.server import GuardedServer

    forbid_core_dumps()
    if not settings.needs_setup:
        raise SettingsError("an App is set already", "`metaagent doctor` says whether it works")
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
        raise SettingsError("set-up was stopped before an App was made", "start it again")
    tell(f"The App {made[0].slug} is made and stored in {path}. Choose its repositories: {made[0].html_url}")
    return path


def create_setup_app(settings: Settings, door: Door, done: Callable[[NewApp], None]) -> FastAPI:
    """The application while nothing is set up: these pages, and nothing that takes work."""

    async def exchange(code: str) -> tuple[NewApp, str]:
        return await new_app(settings.github_api_url, code)

    app = FastAPI(title="MetaAgent", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(setup_router(SetUp(settings, door, exchange, done)))

    @app.get("/")
    async def begin() -> RedirectResponse:
        """There is only one thing to do."""
        return RedirectResponse("/setup")

    async def missing() -> tuple[str, ...]:
        return (NO_APP,)

    app.include_router(health_router(lambda: True, missing))
    return app


async def new_app(api_url: str, code: str) -> tuple[NewApp, str]:
    """The App behind GitHub's code, and the secret of its webhooks; one is set where GitHub made none.

    Raises:
        MetaAgentError: the code is not good, or GitHub failed.
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
    """A socket, bound before the console says where to go.

    Raises:
        SettingsError: it cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise SettingsError(
            f"{host}:{port} cannot be listened on ({error.strerror})", "choose another --port"
        ) from error


def _invitation(settings: Settings, port: int, code: str) -> str:
    """Where to go; the code stands behind a #, which no server and no log sees."""
    address = settings.public_url or f"http://localhost:{port}"
    return (
        f"MetaAgent is not set up yet. Open\n\n    {address.rstrip('/')}/setup#{code}\n\n"
        f"in your browser (or enter the code {code} at /setup). It works once; whoever has it makes the App."
    )
