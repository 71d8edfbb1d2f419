"""What runs where the operator paused with `--now` is stopped and told; what waits goes on waiting."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from bot.domain.account import Grant
from bot.domain.mission import Outcome
from bot.domain.mission_record import MissionQuery
from bot.domain.pause import Pause
from bot.domain.request import Halted, MissionRequest, RepositoryRef
from bot.errors import QueueError
from bot.ledger.pauses import Pauses
from bot.ledger.work import WorkMeter
from bot.publish.recorder import Recorder
from bot.queue.memory import MemoryCheckpoint
from bot.registry import under_way
from bot.registry.missions import StoredMissions
from bot.registry.stored import StoredRegistry
from bot.upkeep.obsolete import end_halted
from bot.upkeep.paused import PauseWatch
from tests.accounts import an_account
from tests.builders import a_repository, a_request
from tests.databases import a_database
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_queue import MemoryQueue
from tests.services import services

pytestmark = pytest.mark.anyio


class Scene:
    """Missions that run and wait, and somebody who looks."""

    def __init__(self, folder: Path) -> None:
        self.database = a_database(folder)
        self.github, self.queue, self.registry = (
            FakeGitHub(),
            MemoryQueue(),
            StoredRegistry(self.database),
        )
        self.pauses = Pauses(self.database)
        self.services = services(self.github, queue=self.queue, registry=self.registry)
        self.watch = PauseWatch(self.pauses, self.queue)

    async def work(self) -> None:
        """As a worker does, which has the notices."""
        for notice in self.queue.notices:
            assert isinstance(notice, Halted)
            await end_halted(notice, self.services, MemoryCheckpoint())

    async def mission(
        self, name: str, *, runs: bool, repository: RepositoryRef | None = None
    ) -> MissionRequest:
        request = a_request(mission_id=name).with_(repository=repository or a_repository())
        await self.queue.submit(request)
        await under_way.begin(request, self.registry, FixedClock())
        if runs:
            await WorkMeter(self.database, an_account(mission=name)).before(
                0.0, Grant(seconds=9.0, limit="its own")
            )
        return request

    def states(self) -> list[str]:
        return list(self.queue.states.values())


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def test_what_runs_goes_on_unless_now_was_said(scene: Scene) -> None:
    await scene.mission("m-1", runs=True)
    assert await scene.watch.look() == 0
    await scene.pauses.set(Pause())
    assert await scene.watch.look() == 0
    assert scene.states() == ["waiting"]


async def test_now_stops_what_runs_says_so_and_leaves_what_waits(scene: Scene) -> None:
    await scene.mission("m-1", runs=True)
    await scene.mission("m-2", runs=False)
    await scene.pauses.set(Pause(now=True, why="too much money"))
    assert await scene.watch.look() == 1
    assert scene.states() == ["cancelled", "waiting"]
    assert not scene.github.checks
    await scene.work()
    (check,) = scene.github.checks
    assert check.updates[-1].title.startswith("CANCELLED")
    assert "everything is paused by the operator" in check.updates[-1].summary
    assert await scene.watch.look() == 0


async def test_who_dies_before_anything_is_stopped_has_left_it_to_the_others(scene: Scene) -> None:
    class Dies(MemoryQueue):
        @override
        async def cancel(self, mission_id: str) -> None:
            raise QueueError("dead")

    await scene.mission("m-1", runs=True)
    await scene.pauses.set(Pause(now=True))
    dying = Dies()
    dying.requests, dying.notices, dying.states = (
        scene.queue.requests,
        scene.queue.notices,
        scene.queue.states,
    )
    with pytest.raises(QueueError):
        await PauseWatch(scene.pauses, dying).look()
    assert scene.states() == ["waiting"]
    await scene.work()
    assert scene.states() == ["cancelled"]
    assert scene.github.checks[0].updates[-1].title.startswith("CANCELLED")


async def test_a_pause_of_one_place_stops_nothing_elsewhere(scene: Scene) -> None:
    here = a_repository()
    await scene.mission("m-1", runs=True)
    await scene.mission("m-2", runs=True, repository=here.with_(id=77, owner="elsewhere"))
    await scene.pauses.set(Pause(place="elsewhere", now=True))
    assert await scene.watch.look() == 1
    assert scene.states() == ["waiting", "cancelled"]
    assert {mission.mission_id for mission in await scene.pauses.running()} == {"m-1", "m-2"}
    await scene.registry.end("m-2")
    assert {mission.mission_id for mission in await scene.pauses.running()} == {"m-1"}


async def test_a_row_that_a_newer_program_wrote_hides_none_of_the_others_and_is_told_once(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    await scene.mission("m-1", runs=True)
    await scene.mission("m-2", runs=True, repository=a_repository(id=77))
    newer = """UPDATE live SET value = '{"mission_id": "m-1", "begun_by": "a newer one"}' WHERE id = 'm-1'"""
    scene.database.run(lambda tx: tx.change(newer))
    await scene.pauses.set(Pause(now=True))
    with caplog.at_level(logging.WARNING, "bot.ledger.pauses"):
        for _ in range(2):
            assert [mission.mission_id for mission in await scene.pauses.running()] == ["m-2"]
    assert [getattr(record, "mission", "") for record in caplog.records] == ["m-1"]
    assert await scene.watch.look() == 1
    assert scene.states() == ["waiting", "cancelled"]


async def test_a_watch_that_fails_goes_on_and_says_so_once(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(MemoryQueue):
        looks = 0
        stopped = asyncio.Event()

        @override
        async def under_way(self, repository_id: int | None = None) -> tuple[MissionRequest, ...]:
            self.looks += 1
            if self.looks < 4:
                raise ValueError("a row that nobody can read")
            return await super().under_way(repository_id)

        @override
        async def cancel(self, mission_id: str) -> None:
            await super().cancel(mission_id)
            self.stopped.set()

    await scene.mission("m-1", runs=True)
    await scene.pauses.set(Pause(now=True))
    queue = Broken()
    queue.requests, queue.states = scene.queue.requests, scene.queue.states
    running = asyncio.create_task(PauseWatch(scene.pauses, queue, every_s=0.001).run())
    try:
        await asyncio.wait_for(queue.stopped.wait(), timeout=10)
    finally:
        running.cancel()
    assert scene.states() == ["cancelled"]
    assert [record.message for record in caplog.records].count("reading pauses failed") == 1


async def test_a_cancelled_mission_is_stopped_and_reported_whether_it_runs_or_waits(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path)
    records = StoredMissions(scene.database)
    scene.services = replace(scene.services, records=records)
    watch = PauseWatch(scene.pauses, scene.queue, records)
    recorder = Recorder(records, FixedClock())
    for name, runs in (("runs", True), ("waits", False), ("other", True)):
        await recorder.enqueue(await scene.mission(name, runs=runs))
    for name in ("runs", "waits"):
        assert await records.ask_stop(name, "ada")
    assert await watch.look() == 2
    await scene.work()
    found = {one.mission_id: one for one in (await records.page(MissionQuery())).missions}
    for name in ("runs", "waits"):
        assert scene.queue.states[name] == "cancelled"
        assert found[name].outcome is Outcome.CANCELLED
        assert found[name].reason == "ada cancelled it, so the running mission was stopped"
    assert found["other"].outcome is None
    assert await watch.look() == 0
