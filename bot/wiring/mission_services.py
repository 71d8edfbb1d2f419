"""Build the dependencies of missions: backend, workspaces, fixers, lessons."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bot.clock import SystemClock
from bot.domain.model import Role
from bot.domain.request import MissionRequest
from bot.fixers.rung0_tools import tool_fixers
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.lessons.stored import StoredLessons
from bot.pipeline import MissionServices, OpenProgress
from bot.policy.rules import allows
from bot.ports import AgentDoors, Fixer, Minds, Progress
from bot.publish.progress import SilentProgress
from bot.publish.recorder import Recorder
from bot.registry.missions import StoredMissions
from bot.settings import Settings
from bot.store.database import Database
from bot.store.opening import open_database
from bot.wiring.models import (
    build_doors,
    build_minds,
    derive_limits,
    derive_model_limits,
    select_models,
)
from sandbox.backends import open_backend
from sandbox.backends.base import Backend, CacheUsage
from sandbox.importer import version_on_host
from sandbox.isolation import find_excess_privileges
from sandbox.workspace import Sandboxes

BuildMissionServices = Callable[[Settings, OpenProgress], MissionServices]
"""Builds the external dependencies of missions from settings."""


def prepare_image(settings: Settings, *, prune: bool = False) -> tuple[str, CacheUsage]:
    """Pull or build the toolchain image; return its name, and the stored environments.

    Args:
        settings: All settings.
        prune: Remove environments over the limits.

    Raises:
        SandboxUnavailable: the image cannot be pulled or built.
    """

    async def prepare() -> tuple[str, CacheUsage]:
        backend = build_backend(settings)
        return await backend.ensure_toolchain(), await backend.prune(only_count=not prune)

    return asyncio.run(prepare())


def build_backend(settings: Settings) -> Backend:
    """Return the backend that runs repository code."""
    return open_backend(settings.sandbox)


async def probe_isolation(settings: Settings) -> tuple[str, ...]:
    """Return the rights that sandboxed code has and must not have.

    Empty for a backend that promises no isolation.

    Raises:
        SandboxError: no sandbox can be opened.
    """
    if settings.sandbox.backend != "docker":
        return ()
    # A pool would keep sandboxes ready that no mission uses.
    return await find_excess_privileges(open_backend(settings.sandbox.with_(pool=0)))


def git_on_host() -> str:
    """Return the version of the git that imports repositories.

    Raises:
        SandboxError: git is missing or too old.
    """
    return ".".join(map(str, version_on_host()))


def build_fixers(
    settings: Settings,
    lessons: StoredLessons,
    minds: Minds | None = None,
    doors: AgentDoors | None = None,
) -> tuple[Fixer, ...]:
    """Return the fixers of every rung.

    Rungs 1 and 2 execute candidate code in the sandbox. The local backend is the host itself, so
    they are off there unless the host is declared disposable.
    """
    if settings.sandbox.backend == "local" and not settings.sandbox.disposable_host:
        return tool_fixers()
    fixers: list[Fixer] = [*tool_fixers(), SearchFixer(lessons)]
    if minds is not None and Role.FIX in select_models(settings):
        from bot.fixers.rung2_model.fixer import ModelFixer

        limits = derive_model_limits(settings)
        fixers.append(ModelFixer(minds, SearchTrials(lessons), limits, allows=allows))
    if doors is not None:
        from bot.fixers.rung2_model.agent_worker import AgentWorker

        fixers.append(AgentWorker(doors, SearchTrials(lessons), allows))
    return tuple(fixers)


def build_mission_services(
    settings: Settings, open_progress: OpenProgress, database: Database | None = None
) -> MissionServices:
    """Build the external dependencies of missions, for the command line and the service.

    Args:
        settings: All settings.
        open_progress: Opens the progress listener of a mission.
        database: Our open database, closed with the rest; None opens one.
    """
    database = database or open_database(settings.engine_url, settings.data_dir)
    lessons = StoredLessons(database, shared=settings.share_lessons)
    sandboxes = Sandboxes(settings.sandbox, build_backend(settings), settings.data_dir)
    clock = SystemClock()
    minds = build_minds(settings, clock, database)

    async def close() -> None:
        await sandboxes.close()
        if minds is not None:
            await minds.close()
        database.close()

    return MissionServices(
        open_workspace=sandboxes.open_workspace,
        fixers=build_fixers(settings, lessons, minds, build_doors(settings, clock, database)),
        minds=minds,
        lessons=lessons,
        clock=clock,
        open_progress=open_progress,
        limits=derive_limits(settings),
        app_slug=settings.app_slug,
        secrets=settings.secret_values,
        close=close,
        recorder=Recorder(StoredMissions(database), clock, settings.secret_values),
    )


@asynccontextmanager
async def open_mission_services(
    settings: Settings, build: BuildMissionServices, progress: Progress | None = None
) -> AsyncIterator[MissionServices]:
    """Yield the dependencies of missions, and close them at the end.

    Args:
        settings: All settings.
        build: Builds them.
        progress: The progress listener; None for silence.
    """

    @asynccontextmanager
    async def listening(_: MissionRequest) -> AsyncIterator[Progress]:
        yield progress or SilentProgress()

    services = build(settings, listening)
    try:
        yield services
    finally:
        await services.close()
