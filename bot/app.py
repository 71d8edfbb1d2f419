"""The service's processes: a web application with its routes, or a worker without one."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI

from bot import __version__
from bot.errors import MetaAgentError
from bot.front.health import health_router
from bot.intake.webhook import webhook_router
from bot.private import forbid_core_dumps
from bot.service import Role, Service
from bot.settings import Settings
from bot.telemetry import set_up_logging
from bot.wiring.data_folder import close_data_dir


def create_app(
    settings: Settings,
    on_failure: Callable[[MetaAgentError], None] | None = None,
    role: Role = Role.SERVE,
) -> FastAPI:
    """Return the web application; its start also starts the service.

    Args:
        settings: All settings.
        on_failure: Receives the error of a failed start, before the server exits.
        role: The work of this process.

    Raises:
        SettingsError: a required setting is missing.
        QueueError: the database is not supported.
    """
    service = Service(settings, role)

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

    app = FastAPI(
        title="MetaAgent",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.include_router(
        webhook_router(
            secret=service.secret.get_secret_value(),
            inbox=service.inbox,
            own=service.own,
            max_body=settings.webhook_max_bytes,
            answer_within_s=settings.webhook_answer_s,
            limits=settings.http,
        )
    )
    app.include_router(health_router(lambda: service.is_working, service.missing))
    _include_optional_pages(app, settings, service, role)
    return app


def _include_optional_pages(app: FastAPI, settings: Settings, service: Service, role: Role) -> None:
    """Add the pages that settings turn on; the libraries of the others are not loaded."""
    if settings.dashboard.enabled:
        from bot.dashboard.access import API
        from bot.dashboard.api import create_api
        from bot.dashboard.build import build_dashboard
        from bot.dashboard.web import dashboard_router

        dashboard = build_dashboard(settings, service, role)
        app.include_router(dashboard_router(dashboard))
        app.mount(API, create_api(dashboard))
    if settings.dashboard.badges:
        from bot.front.badge import badge_router

        missions, clock = service.parts.missions, service.parts.clock
        app.include_router(
            badge_router(settings.dashboard.badges, missions.count_fixes, clock.monotonic)
        )
    if settings.telemetry.metrics:
        from bot.front.metrics import metrics_router

        app.include_router(metrics_router(service.figures, settings.telemetry.metrics_token))


def serve(settings: Settings, role: Role = Role.SERVE) -> None:
    """Listen until stopped.

    Raises:
        SettingsError: a required setting is missing.
        QueueError: another process already works on this data.
    """
    from bot.front.server import GuardedServer

    _begin(settings)
    failures: list[MetaAgentError] = []
    app = create_app(settings, failures.append, role)
    try:
        GuardedServer(app, settings.http, host=settings.host, port=settings.port).run()
    except SystemExit:
        # uvicorn exits silently after a failed start; our error has the reason.
        if failures:
            raise failures[0] from None
        raise


def work(settings: Settings) -> None:
    """Run missions until stopped; active ones move to another worker.

    Raises:
        SettingsError: a required setting is missing.
        QueueError: the database is not supported, or unreachable.
    """
    _begin(settings)
    asyncio.run(_work(Service(settings, Role.WORKER)))


def _begin(settings: Settings) -> None:
    """Prepare a process of a service."""
    forbid_core_dumps()
    set_up_logging(level=settings.log_level, secrets=settings.secrets)
    close_data_dir(settings.data_dir)


async def _work(service: Service) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await service.start()
        await stop.wait()
    finally:
        await service.stop()
