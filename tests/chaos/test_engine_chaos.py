"""Several workers on PostgreSQL, some of which die: nothing is lost, and nothing that has a checkpoint is done again."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from bot.domain.request import MissionRequest, Trigger
from bot.errors import QueueError
from bot.queue.engine import DurableEngine
from tests.builders import a_repository
from tests.integration.worker_process import PACE, STEPS, Missions
from tests.postgres import Server, a_server

ROOT = Path(__file__).resolve().parents[2]
MISSIONS = tuple(f"m-{number}" for number in range(20))
KILLED_AFTER = (10, 50)
"""Steps begun when another worker is killed; a third death would send missions where they go one at a time."""
DONE = {"SUCCESS"}

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@dataclass(frozen=True)
class Begun:
    """A step that began."""

    at: float
    worker: int
    mission: str
    step: str


class Workers:
    """The processes, and what they wrote down."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self._folder = folder
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self) -> int:
        command = [sys.executable, "-m", "tests.integration.worker_process", self.url, str(self._folder)]
        process = subprocess.Popen(command, cwd=ROOT)
        self._processes[process.pid] = process
        return process.pid

    def are_ready(self) -> bool:
        return all((self._folder / f"ready-{pid}").exists() for pid in self._processes)

    def send(self, number: signal.Signals, pid: int | None = None) -> tuple[float, int]:
        """To one that works on most just now; when, and which."""
        pid = pid or max(self._processes, key=lambda one: len(self.at_work(one)))
        now = time.time()
        process = self._processes.pop(pid)
        process.send_signal(number)
        process.wait(30)
        return now, pid

    def stop(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait(10)

    def begun(self) -> list[Begun]:
        path = self._folder / "steps"
        lines = path.read_text().splitlines() if path.exists() else []
        words = (line.split() for line in lines)
        return [Begun(float(at), int(worker), mission, step) for at, worker, mission, step in words]

    def at_work(self, pid: int, at: float | None = None) -> set[str]:
        """Missions of which a step began in this worker that had no checkpoint then; others may have written it since."""
        newest = {one.mission: one for one in self.begun() if one.worker == pid}
        written = checkpoints(self.url)
        then = time.time() if at is None else at
        return {one.mission for one in newest.values() if written.get((one.mission, one.step), then) >= then}


@pytest.fixture
def workers(postgres: Server, tmp_path: Path) -> Iterator[Workers]:
    built = Workers(postgres.new_database(), tmp_path)
    yield built
    built.stop()


async def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 -- other processes do not tell
            await asyncio.sleep(0.05)


def is_crowded() -> bool:
    """Whether more wants to run here than can: then how long something took says nothing."""
    return os.getloadavg()[0] > 2 * (os.cpu_count() or 1)


def checkpoints(url: str) -> dict[tuple[str, str], float]:
    query = "SELECT workflow_uuid, function_name, completed_at_epoch_ms FROM dbos.operation_outputs"
    with psycopg.connect(url) as database:
        return {(mission, step): at / 1_000 for mission, step, at in database.execute(query) if at}


def states(url: str) -> dict[str, str]:
    with psycopg.connect(url) as database:
        return dict(database.execute("SELECT workflow_uuid, status FROM dbos.workflow_status").fetchall())


def a_request(number: int, mission: str) -> MissionRequest:
    return MissionRequest(mission_id=mission, trigger=Trigger.CHECK_RUN, repository=a_repository(id=number))


async def test_an_outage_of_the_database_is_nobody_s_death(tmp_path: Path) -> None:
    with a_server() as server:
        workers = Workers(server.new_database(), tmp_path)
        web = DurableEngine(workers.url, Missions(tmp_path).handlers(), works=False)
        try:
            for _ in range(2):
                workers.start()
            await until(workers.are_ready)
            await web.launch()
            for number, mission in enumerate(MISSIONS[:6]):
                assert await web.submit(a_request(number, mission))
            await until(lambda: len(workers.begun()) >= 10)
            server.stop()
            stopped = time.monotonic()
            with pytest.raises(QueueError):
                await web.submit(a_request(7, "meanwhile"))
            told = time.monotonic() - stopped
            await asyncio.sleep(PACE.ttl_s + 1)
            server.start()
            await until(lambda: len(done := states(workers.url)) == 6 and set(done.values()) <= DONE)
            assert await web.submit(a_request(7, "meanwhile")), "who asked again is heard"
            begun = [one for one in workers.begun() if one.mission != "meanwhile"]
            print(f"told after {told:.1f} s; steps begun twice: {len(begun) - len(STEPS) * 6}")  # noqa: T201
            assert len(begun) == len(STEPS) * 6, "nothing ran twice"
            assert told < 1
        finally:
            workers.stop()
            await web.close()


async def test_twenty_missions_outlive_two_kills_and_an_orderly_stop(workers: Workers, tmp_path: Path) -> None:
    for _ in range(3):
        workers.start()
    await until(workers.are_ready)
    web = DurableEngine(workers.url, Missions(tmp_path).handlers(), works=False)
    await web.launch()
    for number, mission in enumerate(MISSIONS):
        assert await web.submit(a_request(number, mission))
    await web.close()
    gone: list[tuple[float, set[str], float]] = []
    for steps in KILLED_AFTER:
        await until(lambda steps=steps: len(workers.begun()) >= steps)  # type: ignore[misc]
        at, pid = workers.send(signal.SIGKILL)
        gone.append((at, workers.at_work(pid, at), PACE.ttl_s + 5))
        workers.start()
    await until(lambda: len(workers.begun()) >= KILLED_AFTER[-1] + 20)
    at, pid = workers.send(signal.SIGTERM)
    gone.append((at, workers.at_work(pid, at), 5))
    await until(lambda: len(done := states(workers.url)) == len(MISSIONS) and set(done.values()) <= DONE)

    begun = workers.begun()
    written = checkpoints(workers.url)
    assert set(written) == {(mission, step) for mission in MISSIONS for step in STEPS}, "every step was done"
    again = [one for one in begun if one.at > written[one.mission, one.step]]
    assert not again, "a step with a checkpoint never runs again"
    repeated = len(begun) - len(written)
    assert repeated <= sum(len(missions) for _, missions, _ in gone), "only what ran when its worker died is repeated"
    for at, missions, within in gone:
        on = [min(one.at for one in begun if one.mission == mission and one.at > at) - at for mission in missions]
        print(f"{len(missions)} missions taken over, the last after {max(on, default=0):.1f} s")  # noqa: T201
        assert max(on, default=0) <= within or is_crowded(), "taken over in time"
