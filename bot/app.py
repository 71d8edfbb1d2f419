"""The web service: routes, health, start and stop of the worker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from bot import __version__
from bot.intake.webhook import webhook_router
from bot.settings import Settings
from bot.telemetry import set_up_logging
from bot.wiring.service import Service


def create_app(settings: Settings) -> FastAPI:
    """The application; starting it starts the worker.

    Raises:
        SettingsError: something a service cannot do without is missing.
    """
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = FastAPI(title="MetaAgent", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.include_router(
        webhook_router(
            secret=service.secret.get_secret_value(),
            inbox=service.inbox,
            own=service.own,
            max_body=settings.webhook_max_bytes,
        )
    )

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Alive: the process answers and its worker was started."""
        return {"status": "ok", "version": __version__}

    return app


def serve(settings: Settings) -> None:
    """Listen until stopped.

    Raises:
        SettingsError: something a service cannot do without is missing.
    """
    import uvicorn

    set_up_logging(level=settings.log_level, secrets=settings.secrets)
    uvicorn.run(create_app(settings), host=settings.host, port=settings.port, log_config=None, access_log=False)
