"""What the engine's rows hold: all that a replay needs, nothing that is large, and no secret."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typing_extensions import override

from bot.blobs.folder import FolderShelf
from bot.blobs.store import HashedStore
from bot.domain.blob import BlobKind, Drawer
from bot.domain.github import CloneSource, CommitState
from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.domain.request import MissionRequest, RepositoryRef
from bot.errors import NotPermitted, StoreError
from bot.pipeline import MissionServices, handle_request
from bot.ports import BlobStore, Checkpoint, Progress
from bot.ports.work import Value
from bot.publish.progress import SilentProgress
from bot.queue.checkpoint import ROW_BYTES
from bot.queue.engine import DurableEngine, EngineTiming
from bot.queue.workflows import Handlers
from tests.builders import BASE, HEAD, a_request
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.unit.bot.mission.world import ADDS, a_world, one_step_at_a_time

pytestmark = pytest.mark.anyio

SECRET = "ghs_0123456789abcdefghijklmnopqrstuvwxyzAB"
PACE = EngineTiming(poll_s=0.05, pauses_s=(0.05,))


class Forbidding:
    """A checkpoint under which nothing may run: every value comes from the rows."""

    def __init__(self, inner: Checkpoint) -> None:
        self._inner = inner

    async def step(
        self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]
    ) -> Value:
        async def forbidden() -> Value:
            raise AssertionError(f"{name} ran again")

        return await self._inner.step(name, returns, forbidden)


@dataclass
class Runs:
    """Missions on an engine in a file, and what came of each."""

    folder: Path
    mission: Callable[[MissionRequest, Checkpoint], Awaitable[MissionContext]]
    blobs: BlobStore | None = None
    ends: list[MissionContext | Exception] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / "engine.sqlite"

    async def run(
        self, request: MissionRequest | None = None, *, replayed: bool = False
    ) -> MissionContext | Exception:
        """The mission to its end in a process of its own, as it were; replayed, all its steps are rows already."""
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        async def mission(asked: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
            try:
                context = await self.mission(
                    asked, Forbidding(checkpoint) if replayed else checkpoint
                )
            except Exception as error:
                self.ends.append(error)
                raise
            else:
                self.ends.append(context)
                return context

        async def nothing(*_: object) -> None:
            return None

        async def told(_: str) -> None:
            loop.call_soon_threadsafe(ended.set)

        handlers = Handlers(
            mission=mission,
            settle=nothing,
            command=nothing,
            feedback=nothing,
            notice=nothing,
            ended=told,
            blobs=self.blobs,
        )
        engine = DurableEngine(f"sqlite:///{self.file}", handlers, pace=PACE)
        if replayed:
            self.forget_the_end()
        await engine.launch()
        try:
            if not replayed:
                await engine.submit(request or a_request())
            async with asyncio.timeout(60):
                await ended.wait()
        finally:
            await engine.close()
        return self.ends[-1]

    def forget_the_end(self) -> None:
        """As if the process had died after the last step, before the mission's own end was written."""
        with sqlite3.connect(self.file) as database:
            database.execute(
                "UPDATE workflow_status SET status = 'PENDING', owner_xid = 'x', executor_id = 'dead', output = NULL, "
                "error = NULL, completed_at = NULL WHERE name = 'mission'"
            )

    def rows(self) -> dict[str, str]:
        """What each step left."""
        with sqlite3.connect(self.file) as database:
            return dict(
                database.execute("SELECT function_name, output FROM operation_outputs").fetchall()
            )

    def written(self) -> bytes:
        """Every byte the engine wrote."""
        return b"".join(path.read_bytes() for path in self.folder.glob("engine.sqlite*"))


@asynccontextmanager
async def listening(_: MissionRequest) -> AsyncIterator[Progress]:
    yield SilentProgress()


class GuardedGitHub(FakeGitHub):
    """Gives the right to fetch with a token."""

    @override
    async def clone_source(self, repository: RepositoryRef) -> CloneSource:
        return CloneSource(
            url="https://github.invalid/octo/shop.git", authorization=f"basic {SECRET}"
        )


async def test_a_mission_replayed_from_its_rows_comes_to_the_same_end_without_a_step_run_again(
    tmp_path: Path,
) -> None:
    world, github = a_world(ADDS), GuardedGitHub()
    github.branches["main"] = HEAD
    github.commits[HEAD] = CommitState(sha=HEAD, parents=(BASE,), message="break it", author="ann")
    services = MissionServices(
        open_workspace=world.open_workspace,
        fixers=(ScriptedFixer(one_step_at_a_time),),
        lessons=MemoryLessons(),
        clock=FixedClock(),
        open_progress=listening,
    )
    runs = Runs(
        tmp_path, lambda request, checkpoint: handle_request(request, services, github, checkpoint)
    )
    first = await runs.run()
    assert isinstance(first, MissionContext)
    assert first.outcome is Outcome.FIXED
    made = len(github.pulls), world.opened
    assert await runs.run(replayed=True) == first
    assert (len(github.pulls), world.opened) == made
    assert SECRET.encode() not in runs.written(), "the right to fetch is asked for anew, not stored"


async def test_an_error_is_the_same_kind_of_error_when_it_is_replayed(tmp_path: Path) -> None:
    async def mission(request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        async def refused() -> Publication:
            raise NotPermitted("no", "grant it", status=403)

        await checkpoint.step("publish", Publication, refused)
        raise AssertionError

    runs = Runs(tmp_path, mission)
    first, again = await runs.run(), await runs.run(replayed=True)
    assert isinstance(first, NotPermitted)
    assert isinstance(again, NotPermitted)
    assert vars(first) == vars(again)


class Away:
    """A store of large values that is out of reach."""

    async def put(self, drawer: Drawer, content: bytes) -> str:
        raise StoreError("no route to the store")


async def large(request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
    async def think() -> Publication:
        return Publication(mission_id=request.mission_id, branch="x" * ROW_BYTES)

    thought = await checkpoint.step("think", Publication, think)
    context = MissionContext(
        mission_id=request.mission_id, request=request, created_at="", target_path=""
    )
    return context.ended(Outcome.NO_FIX, f"{len(thought.branch or '')}")


async def test_what_is_too_large_for_a_row_is_kept_by_its_hash(tmp_path: Path) -> None:
    store = HashedStore(FolderShelf(tmp_path / "blobs"))
    runs = Runs(tmp_path, large, store)
    first = await runs.run()
    (blob,) = await store.list_blobs(BlobKind.STEPS, a_request().mission_id)
    assert blob.size > ROW_BYTES
    assert len(runs.rows()["think"]) < 200
    assert await runs.run(replayed=True) == first


async def test_what_is_too_large_stays_in_its_row_while_the_store_is_away(tmp_path: Path) -> None:
    runs = Runs(tmp_path, large, Away())  # type: ignore[arg-type]
    first = await runs.run()
    assert len(runs.rows()["think"]) > ROW_BYTES
    assert await runs.run(replayed=True) == first
