"""The workers of a chaos test, what they wrote down, what the engine's rows say, and the judgement of both."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import create_engine, text

from bot.queue.engine import DurableEngine
from tests.chaos.worker import Missions, a_request, step_names

ROOT = Path(__file__).resolve().parents[2]
DONE = frozenset({"SUCCESS"})
TAKEOVER_S = 5.0
"""A dead worker's missions go on so long after the silence that makes it dead."""

Owned = frozenset[tuple[object, ...]]
"""Missions, each with the executor that the engine's rows say works on it."""


@dataclass(frozen=True)
class Line:
    """What a step wrote down when it began or ended."""

    at: float
    worker: int
    mission: str
    step: str
    what: str

    @property
    def key(self) -> tuple[str, str]:
        """Of its checkpoint."""
        return self.mission, self.step


@dataclass
class Death:
    """A worker that went.

    Attributes:
        at: When.
        missions: It was at work on.
        within: Seconds until they must be in line again.
        owned: The same, as the rows had it, and what else it had taken.
        seconds: Until none of these was its own any more; None while some are.
    """

    at: float
    missions: frozenset[str]
    within: float
    owned: Owned = frozenset()
    seconds: float | None = None


@dataclass
class Crew:
    """Processes that work on one database.

    Attributes:
        url: The database.
        folder: Where they write.
        steps: Of each mission.
        options: Further options of the workers' command line.
        more: Further variables of their environment.
    """

    url: str
    folder: Path
    steps: int = 6
    ttl_s: float = 8.0
    options: Sequence[str] = ()
    more: Mapping[str, str] = field(default_factory=dict)
    processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    deaths: list[Death] = field(default_factory=list)

    def start(self) -> int:
        """One more worker; its process id."""
        command = [sys.executable, "-m", "tests.chaos.worker", self.url, str(self.folder)]
        command += ["--steps", str(self.steps), "--ttl-s", str(self.ttl_s), *self.options]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, **self.more}, stdout=log, stderr=log
            )
        self.processes[process.pid] = process
        return process.pid

    def are_ready(self) -> bool:
        """Whether all that live work."""
        for pid, process in self.processes.items():
            assert process.poll() is None, f"worker {pid} ended by itself:\n{self.log()[-3000:]}"
        return all(self.is_ready(pid) for pid in self.processes)

    def is_ready(self, pid: int) -> bool:
        """Whether one works."""
        return (self.folder / f"ready-{pid}").exists()

    def log(self) -> str:
        """What all of them wrote on standard error."""
        return (self.folder / "log").read_text(errors="replace")

    def end(self, number: signal.Signals, pid: int) -> float:
        """Send a signal that ends it, and wait until it has; the moment it was sent."""
        process = self.processes.pop(pid)
        now = time.time()
        process.send_signal(number)
        process.wait(30)
        return now

    def kill(self, pid: int, within: float | None = None) -> Death:
        """`kill -9`."""
        at = self.end(signal.SIGKILL, pid)
        missions = self.at_work(pid, at)
        owned = frozenset(row for row in self.owned() if row[0] in missions)
        self.deaths.append(Death(at, missions, within or self.ttl_s + TAKEOVER_S, owned))
        return self.deaths[-1]

    def owned(self) -> Owned:
        """Who works on what, as the rows have it."""
        query = (
            "SELECT workflow_uuid, executor_id FROM {dbos}workflow_status WHERE status = 'PENDING'"
        )
        return frozenset(self.ask(query))

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """For the length of a block, notice when the missions of the dead are theirs no more."""

        async def watch() -> None:
            while True:
                await asyncio.sleep(0.3)
                if any(death.seconds is None for death in self.deaths):
                    owned, now = self.owned(), time.time()
                    for death in self.deaths:
                        if death.seconds is None and not death.owned & owned:
                            death.seconds = now - death.at

        task = asyncio.create_task(watch())
        try:
            yield
            await until(
                lambda: all(death.seconds is not None for death in self.deaths),
                60,
                "for a takeover",
            )
        finally:
            task.cancel()

    def stop(self) -> None:
        """End what is left."""
        for process in self.processes.values():
            process.kill()
            process.wait(10)

    # --- what they did ------------------------------------------------------------------------------

    def lines(self, what: str = "begin") -> list[Line]:
        """What began, or ended, in order."""
        path = self.folder / "steps"
        whole = path.read_text().splitlines() if path.exists() else []
        rows = (line.split() for line in whole)
        made = [
            Line(float(at), int(pid), mission, step, what) for at, pid, mission, step, what in rows
        ]
        return [line for line in made if line.what == what]

    def at_work(self, pid: int, at: float | None = None) -> frozenset[str]:
        """Missions of which a step began in this worker that had no checkpoint then; others may have written it since."""
        newest = {line.mission: line for line in self.lines() if line.worker == pid}
        written = self.checkpoints()
        then = time.time() if at is None else at
        return frozenset(
            line.mission for line in newest.values() if written.get(line.key, then) >= then
        )

    def checkpoints(self) -> dict[tuple[str, str], float]:
        """When each step was written down."""
        rows = self.ask(
            "SELECT workflow_uuid, function_name, completed_at_epoch_ms FROM {dbos}operation_outputs"
        )
        return {
            (str(mission), str(step)): float(str(at)) / 1_000 for mission, step, at in rows if at
        }

    def states(self) -> dict[str, str]:
        """Of each mission."""
        rows = self.ask(
            "SELECT workflow_uuid, status FROM {dbos}workflow_status WHERE name = 'mission'"
        )
        return {str(mission): str(status) for mission, status in rows}

    def ask(self, query: str) -> list[tuple[object, ...]]:
        """Ask the engine's rows."""
        postgres = self.url.startswith("postgresql")
        engine = create_engine(self.url.replace("postgresql://", "postgresql+psycopg://"))
        try:
            with engine.connect() as connection:
                found = connection.execute(text(query.format(dbos="dbos." if postgres else "")))
                return [tuple(row) for row in found]
        finally:
            engine.dispose()

    def are_done(self, missions: int) -> bool:
        """Whether so many missions are through, and none is not; False while the database is away."""
        with suppress(Exception):
            done = self.states()
            return len(done) == missions and set(done.values()) <= DONE
        return False

    async def submit(self, missions: int, first: int = 0) -> None:
        """Put missions in line, as a process that does not work itself; PostgreSQL only."""
        web = self.web()
        await web.launch()
        for number in range(first, first + missions):
            assert await web.submit(a_request(number))
        await web.close()

    def web(self) -> DurableEngine:
        """A process that only puts work in line."""
        return DurableEngine(self.url, Missions(self.folder, 0, 0).handlers(), works=False)


def judge(crew: Crew, missions: int, *, unwritten: int = 0) -> dict[str, object]:
    """Nothing lost, nothing with a checkpoint done again, taken over in time; the figures.

    Args:
        crew: Who worked.
        missions: How many there were.
        unwritten: So many steps at most ended without a death and could not be written down.
    """
    begun, written = crew.lines(), crew.checkpoints()
    wanted = {
        (f"m-{number}", step) for number in range(missions) for step in step_names(crew.steps)
    }
    assert set(written) == wanted, "every step was done"
    again = [line for line in begun if line.at > written[line.key]]
    assert not again, f"a step with a checkpoint never runs again: {again[:3]}"
    in_flight = sum(len(death.missions) for death in crew.deaths) + unwritten
    repeated = len(begun) - len(written)
    assert repeated <= in_flight, f"{repeated} bodies repeated, {in_flight} were in flight"
    took = sorted(death.seconds for death in crew.deaths if death.seconds is not None)
    late = [
        death for death in crew.deaths if death.seconds is not None and death.seconds > death.within
    ]
    assert not late or is_crowded(), f"taken over too late: {late}"
    ended = [line.key for line in crew.lines("end")]
    return {
        "missions done": missions,
        "deaths": len(crew.deaths),
        "in flight then": in_flight,
        "checkpointed steps run again": len(again),
        "bodies begun again": repeated,
        "of them ended before and unwritten": len(ended) - len(set(ended)),
        "in line again after, median s": round(took[len(took) // 2], 1) if took else None,
        "longest s": round(took[-1], 1) if took else None,
    }


async def until(condition: Callable[[], bool], seconds: float = 120, what: str = "") -> float:
    """Wait for something other processes do; how long it took."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, f"waited {seconds:.0f} s {what}"
        await asyncio.sleep(0.1)
    return time.monotonic() - begun


def is_crowded() -> bool:
    """Whether more wants to run here than can: then how long something took says nothing."""
    return os.getloadavg()[0] > 2 * (os.cpu_count() or 1)


def say(title: str, figures: Mapping[str, object]) -> None:
    """One line of figures, and the load they were taken under."""
    told = ", ".join(f"{name}: {value}" for name, value in figures.items())
    print(f"\n{title}: {told} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)")  # noqa: T201
