"""What the engine costs: from the inbox to the engine, a step, missions a second and their CPU, a worker's memory.

    python -m benchmarks.engine [--missions N]

Each figure stands beside what is demanded of it, for SQLite and, where it is installed, for a PostgreSQL of its own.
"""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, as_users_have_it, report, summary
from bot.clock import SystemClock
from bot.domain.mission import MissionContext, Outcome
from bot.domain.request import MissionRequest, RedHead, Trigger
from bot.ports import Checkpoint
from bot.queue.dispatch import Dispatcher
from bot.queue.engine import DurableEngine, EngineTiming
from bot.queue.inbox import Inbox
from bot.queue.workflows import Handlers
from bot.store.opening import open_database
from sandbox.types import Frozen
from tests.builders import a_repository
from tests.postgres import a_server

DEMANDED = {
    "inbox_to_engine_ms_p50": 15.0,
    "step_ms_p50": 20.0,
    "worker_rss_mb": 200.0,
    "connections_per_worker": 5,
}
STEPS = 5
"""Of a mission whose missions a second are counted."""
LONG = 100
"""Steps of the mission whose steps are timed."""
DELIVERIES = 100
AT_ONCE = 20
WORKERS = (1, 2, 4)
READY_S = 60.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missions", type=int, default=200)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        asyncio.run(_work(arguments.worker))
        return
    was_off = as_users_have_it()
    result: dict[str, Any] = {"demanded": DEMANDED}
    with tempfile.TemporaryDirectory() as folder:
        result["sqlite"] = _measured(f"sqlite:///{folder}/engine.sqlite", arguments.missions, (1,))
        with ExitStack() as held:
            server = held.enter_context(a_server())
            result["postgresql"] = _measured(server.new_database(), arguments.missions, WORKERS)
    result["missed"] = [
        f"{database}.{name}"
        for database in ("sqlite", "postgresql")
        for name, most in DEMANDED.items()
        if (value := result[database].get(name)) is not None and value > most
    ]
    report("engine", result, bytecode_was_off=was_off)


def _measured(url: str, missions: int, crews: tuple[int, ...]) -> dict[str, Any]:
    alone = asyncio.run(_alone(url))
    through = [_through(url, count, missions) for count in crews]
    return {
        "inbox_to_engine_ms_p50": alone["inbox_to_engine_ms"]["median"],
        "step_ms_p50": alone["step_ms"]["median"],
        "worker_rss_mb": max(one["rss_mb"] for one in through),
        "connections_per_worker": max((one["connections"] for one in through), default=None)
        if "postgres" in url
        else None,
        **alone,
        "throughput": through,
    }


# --- one process: the way in, and a step ------------------------------------------------------------------------


class Empty:
    """Missions of steps that do nothing."""

    def __init__(self) -> None:
        self.spans: list[float] = []
        self.cpu: list[float] = []

    async def mission(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        """As many steps as the mission's seed says."""
        for number in range(request.seed):
            begun, cpu = time.perf_counter(), time.process_time()
            await checkpoint.step(f"step {number}", Frozen, self.step)
            self.spans.append((time.perf_counter() - begun) * 1_000)
            self.cpu.append((time.process_time() - cpu) * 1_000)
        context = MissionContext(
            mission_id=request.mission_id, request=request, created_at="", target_path=""
        )
        return context.ended(Outcome.NO_FIX, "done")

    async def step(self) -> Frozen:
        """Nothing."""
        return Frozen()

    async def settle(self, _: RedHead, __: Checkpoint) -> None:
        """Nothing is red any more."""

    async def nothing(self, *_: object) -> None:
        """Nothing."""

    def handlers(self) -> Handlers:
        """What the engine is given."""
        return Handlers(
            mission=self.mission,
            settle=self.settle,
            command=self.nothing,
            feedback=self.nothing,
            notice=self.nothing,
        )


def _request(number: int, steps: int = STEPS) -> MissionRequest:
    return MissionRequest(
        mission_id=f"m-{number}",
        trigger=Trigger.CHECK_RUN,
        repository=a_repository(id=number + 1),
        seed=steps,
    )


async def _alone(url: str) -> dict[str, Any]:
    empty = Empty()
    engine = DurableEngine(url, empty.handlers(), pace=EngineTiming(poll_s=0.1))
    begun = time.process_time()
    await engine.launch()
    launch_cpu = time.process_time() - begun
    try:
        long = _request(DELIVERIES, LONG)
        await engine.submit(long)
        while await engine.status(long.mission_id) != "done":  # noqa: ASYNC110 -- the engine tells nobody
            await asyncio.sleep(0.1)
    finally:
        await engine.close()
    handed, cpu = await _handed_over(url)
    return {
        "launch_cpu_s": round(launch_cpu, 2),
        "inbox_to_engine_ms": summary(handed),
        "inbox_to_engine_cpu_ms": summary(cpu),
        "step_ms": summary(empty.spans),
        "step_cpu_ms": summary(empty.cpu),
    }


async def _handed_over(url: str) -> tuple[list[float], list[float]]:
    """Milliseconds, and those of CPU, from a delivery on disk to its mission in line and the delivery marked."""
    engine = DurableEngine(url, Empty().handlers(), works=False)
    await engine.launch()
    inbox = Inbox(open_database(url), SystemClock())
    inbox.open()
    dispatcher = Dispatcher(inbox, engine)
    handed, cpu = [], []
    for number in range(DELIVERIES):
        await inbox.accept(f"d-{number}", "check_run", "completed", _request(number, 0))
        begun, before = time.perf_counter(), time.process_time()
        await dispatcher.deliver()
        handed.append((time.perf_counter() - begun) * 1_000)
        cpu.append((time.process_time() - before) * 1_000)
    await engine.close()
    inbox.close()
    return handed, cpu


# --- several processes: missions a second -----------------------------------------------------------------------


async def _work(url: str) -> None:
    """A worker until told to stop; it uses our own tables now and then, as a real one does."""
    empty = Empty()
    engine = DurableEngine(url, empty.handlers(), workers=AT_ONCE, pace=EngineTiming(poll_s=0.1))
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    database = open_database(url)
    await engine.launch()
    await database.do(lambda transaction: transaction.execute("SELECT 1"))
    print("ready", flush=True)
    await stop.wait()
    await engine.close()
    database.close()


@contextmanager
def _crew(url: str, count: int) -> Iterator[list[int]]:
    command = [sys.executable, "-m", "benchmarks.engine", "--worker", url]
    with ExitStack() as held:
        workers = [held.enter_context(_worker(command)) for _ in range(count)]
        yield [worker.pid for worker in workers]


@contextmanager
def _worker(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    worker = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        if worker.stdout is None or worker.stdout.readline() != "ready\n":
            raise RuntimeError("a worker did not start")
        yield worker
    finally:
        worker.terminate()
        worker.wait(READY_S)


def _through(url: str, count: int, missions: int) -> dict[str, Any]:
    """Missions put in line before anybody works, then worked off; on SQLite the one process does both."""
    first = 1_000 * (count + 1)
    names = [f"m-{first + number}" for number in range(missions)]
    if "postgres" not in url:
        asyncio.run(_put_in_line(url, first, missions))
    with _crew(url, count) as workers:
        before = [_cpu_s(pid) for pid in workers]
        begun = time.perf_counter()
        if "postgres" in url:
            asyncio.run(_put_in_line(url, first, missions))
        while len(done := _ended(url, names)) < missions:
            time.sleep(0.1)
        took = max(done) - min(_begun(url, names))
        cpu = sum(_cpu_s(pid) - was for pid, was in zip(workers, before, strict=True))
        return {
            "workers": count,
            "missions_per_s": round(missions / took, 1),
            "wall_s": round(time.perf_counter() - begun, 1),
            "cpu_ms_per_mission": round(cpu / missions * 1_000, 1),
            "rss_mb": max(_rss_mb(pid) for pid in workers),
            "connections": _connections(url) // count if "postgres" in url else 0,
        }


async def _put_in_line(url: str, first: int, missions: int) -> None:
    engine = DurableEngine(url, Empty().handlers(), works=False)
    await engine.launch()
    for number in range(missions):
        await engine.submit(_request(first + number))
    await engine.close()


def _ended(url: str, names: list[str]) -> list[float]:
    return [at / 1_000 for (at,) in _ask(url, "completed_at", names) if at]


def _begun(url: str, names: list[str]) -> list[float]:
    return [at / 1_000 for (at,) in _ask(url, "started_at_epoch_ms", names) if at]


def _ask(url: str, column: str, names: list[str]) -> list[tuple[int | None]]:
    where = f"FROM workflow_status WHERE name = 'mission' AND workflow_uuid BETWEEN '{min(names)}' AND '{max(names)}'"
    if "postgres" not in url:
        import sqlite3

        with sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30) as file:
            return file.execute(f"SELECT {column} {where}").fetchall()
    import psycopg

    with psycopg.connect(url) as database:
        query = f"SELECT {column} {where.replace('FROM ', 'FROM dbos.')}"
        return database.execute(query.encode()).fetchall()


def _connections(url: str) -> int:
    """Of all workers at this moment, besides the one that asks."""
    import psycopg

    with psycopg.connect(url) as database:
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        row = database.execute(query).fetchone()
    return int(row[0]) if row else 0


def _cpu_s(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024, 1)


if __name__ == "__main__":
    main()
