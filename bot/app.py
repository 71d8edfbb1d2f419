"""The web service: routes, health, start and stop of the worker."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from bot import __version__
from bot.errors import MetaAgentError
from bot.intake.webhook import webhook_router
from bot.settings import Settings
from bot.telemetry import set_up_logging
from bot.wiring.service import Service


def create_app(settings: Settings, on_failure: Callable[[MetaAgentError], None] | None = None) -> FastAPI:
    """The application; starting it starts the worker.

    Args:
        settings: All settings.
        on_failure: Told why the worker could not be started, before the server gives up.

    Raises:
        SettingsError: something a service cannot do without is missing.
    """
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            await service.start()
        except MetaAgentError as error:
            if on_failure is not None:
                on_failure(error)
            raise
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
    async def healthz() -> JSONResponse:
        """Alive: the process answers, and what it takes in is handed on."""
        working = service.is_working
        body = {"status": "ok" if working else "stopped", "version": __version__}
        return JSONResponse(body, 200 if working else 503)

    return app


def serve(settings: Settings) -> None:
    """Listen until stopped.

    Raises:
        SettingsError: something a service cannot do without is missing.
        QueueError: another process already works on this data.
    """
    import uvicorn

    set_up_logging(level=settings.log_level, secrets=settings.secrets)
    failures: list[MetaAgentError] = []
    app = create_app(settings, failures.append)
    try:
        uvicorn.run(app, host=settings.host, port=settings.port, log_config=None, access_log=False)
    except SystemExit:
        # The server's own way to say that it could not start; ours says why.
        if failures:
            raise failures[0] from None
        raise
