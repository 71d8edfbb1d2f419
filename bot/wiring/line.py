"""What a mission needs, whatever asked for it: backend, workspaces, fixers, lessons."""

import asyncio

from bot.clock import SystemClock
from bot.domain.model import Role
from bot.fixers.rung0_tools import tool_fixers
from bot.fixers.rung1_search.as_trials import SearchTrials
from bot.fixers.rung1_search.engine import SearchFixer
from bot.lessons.stored import StoredLessons
from bot.pipeline import Line, OpenProgress
from bot.policy.rules import allows
from bot.ports import AgentDoors, Fixer, Minds
from bot.settings import Settings
from bot.store.database import Database
from bot.store.opening import open_database
from bot.wiring.models import build_doors, build_minds, limits_of, models_of
from sandbox.backends import open_backend
from sandbox.backends.base import Backend, Kept
from sandbox.importer import version_on_host
from sandbox.isolation import rights_left
from sandbox.workspace import Sandboxes


def prepare_image(settings: Settings, *, prune: bool = False) -> tuple[str, Kept]:
    """The toolchain image, pulled or built: its name, and the environments that are kept besides.

    Args:
        settings: Where it is to be.
        prune: Remove environments over the limits.

    Raises:
        SandboxUnavailable: neither is possible here.
    """

    async def prepare() -> tuple[str, Kept]:
        backend = build_backend(settings)
        return await backend.ensure_toolchain(), await backend.prune(only_count=not prune)

    return asyncio.run(prepare())


def build_backend(settings: Settings) -> Backend:
    """The place where repository code runs."""
    return open_backend(settings.sandbox)


async def probe_isolation(settings: Settings) -> tuple[str, ...]:
    """The rights that code in our sandbox would have and must not; none where isolation is not promised.

    Raises:
        SandboxError: no sandbox can be opened.
    """
    if settings.sandbox.backend != "docker":
        return ()
    return await rights_left(open_backend(settings.sandbox.with_(pool=0)))


def git_on_host() -> str:
    """The version of the git that takes repositories in.

    Raises:
        SandboxError: there is none, or it is too old.
    """
    return ".".join(map(str, version_on_host()))


def build_fixers(
    settings: Settings, lessons: StoredLessons, minds: Minds | None = None, doors: AgentDoors | None = None
) -> tuple[Fixer, ...]:
    """Every rung there is.

    Rungs 1 and 2 try mutated code and a model's in the sandbox; on the local backend that is the host itself, so they
    stay off there unless the host is declared disposable.
    """
    if settings.sandbox.backend == "local" and not settings.sandbox.disposable_host:
        return tool_fixers()
    fixers: list[Fixer] = [*tool_fixers(), SearchFixer(lessons)]
    if minds is not None and Role.FIX in models_of(settings):
        from bot.fixers.rung2_model.fixer import ModelFixer

        fixers.append(ModelFixer(minds, SearchTrials(lessons), settings.models, allows=allows))
    if doors is not None:
        from bot.fixers.rung2_model.agent_worker import AgentWorker

        fixers.append(AgentWorker(doors, SearchTrials(lessons), allows))
    return tuple(fixers)


def build_line(settings: Settings, open_progress: OpenProgress, database: Database | None = None) -> Line:
    """Everything a mission needs, for the command line and the service alike.

    Args:
        settings: All settings.
        open_progress: Tells of each mission.
        database: Ours, when it is open already; closed with the line.
    """
    database = database or open_database(settings.engine_url, settings.data_dir)
    lessons = StoredLessons(database)
    sandboxes = Sandboxes(settings.sandbox, build_backend(settings), settings.data_dir)
    clock = SystemClock()
    minds = build_minds(settings, clock, database)

    async def close() -> None:
        await sandboxes.close()
        if minds is not None:
            await minds.close()
        database.close()

    return Line(
        open_workspace=sandboxes.open_workspace,
        fixers=build_fixers(settings, lessons, minds, build_doors(settings, clock, database)),
        minds=minds,
        lessons=lessons,
        clock=clock,
        open_progress=open_progress,
        limits=limits_of(settings),
        app_slug=settings.app_slug,
        secrets=tuple(secret.get_secret_value() for secret in settings.secrets),
        close=close,
    )
