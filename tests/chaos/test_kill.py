"""`kill -9`, again and again: nothing is lost, what has a checkpoint is not done or paid for again."""

import asyncio
import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.chaos.crew import Crew, judge, say, until
from tests.fakes.model_server import Asked, Reply, says, served
from tests.postgres import Server

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

CREW, MISSIONS, KILLS = 4, 60, 12
ALONE, KILLS_ALONE = 16, 10


@dataclass
class Bills:
    """What a model was asked, and when."""

    url: str = ""
    asked: list[tuple[float, tuple[str, str]]] = field(default_factory=list)

    def answer(self, asked: Asked) -> Reply:
        """Note it, then answer."""
        mission, step = asked.user.split()
        self.asked.append((time.time(), (mission, step)))
        return says()(asked)

    def judge(self, crew: Crew, missions: int) -> dict[str, object]:
        """Paid for once, and once more at most where it was in flight when its worker died."""
        in_flight = sum(len(death.missions) for death in crew.deaths)
        written = crew.checkpoints()
        again = [key for at, key in self.asked if at > written[key]]
        assert not again, f"paid again although it was written down: {again[:3]}"
        steps = missions * crew.steps
        assert steps <= len(self.asked) <= steps + in_flight
        return {
            "calls paid": len(self.asked),
            "calls needed": steps,
            "paid again once written": len(again),
        }


@contextmanager
def a_model() -> Iterator[Bills]:
    bills = Bills()
    with served(bills.answer) as server:
        bills.url = server.openai_url
        yield bills


async def test_sixty_missions_of_four_workers_outlive_twelve_kills(
    postgres: Server, tmp_path: Path
) -> None:
    chance = random.Random(7)  # noqa: S311 - the same kills every time
    with a_model() as bills:
        crew = Crew(
            postgres.new_database(), tmp_path, options=("--workers", "4", "--model", bills.url)
        )
        try:
            for _ in range(CREW):
                crew.start()
            await until(crew.are_ready)
            await crew.submit(MISSIONS)
            async with crew.watched():
                while len(crew.deaths) < KILLS:
                    await until(lambda: any(crew.at_work(pid) for pid in crew.processes))
                    await asyncio.sleep(chance.uniform(0.2, 1.5))
                    if busy := [pid for pid in crew.processes if crew.at_work(pid)]:
                        crew.kill(chance.choice(busy))
                        crew.start()
                await until(lambda: crew.are_done(MISSIONS), 240, "for all missions")
            say("kill -9 on PostgreSQL", {**judge(crew, MISSIONS), **bills.judge(crew, MISSIONS)})
        finally:
            crew.stop()


async def test_the_only_process_on_sqlite_outlives_ten_kills(tmp_path: Path) -> None:
    chance = random.Random(8)  # noqa: S311 - the same kills every time
    path = tmp_path / "engine.sqlite"
    with a_model() as bills:
        options = (
            "--workers",
            "4",
            "--submit",
            str(ALONE),
            "--step-s",
            "0.4",
            "--model",
            bills.url,
        )
        crew = Crew(f"sqlite:///{path}", tmp_path, options=options)
        try:
            for _ in range(KILLS_ALONE):
                pid = crew.start()
                await until(lambda pid=pid: crew.is_ready(pid) and bool(crew.at_work(pid)))  # type: ignore[misc]
                # Hardly long enough for a step: who is there when a process dies is not at fault.
                await asyncio.sleep(chance.uniform(0.1, 0.9))
                crew.kill(pid)
            pid = crew.start()
            await until(lambda: crew.are_done(ALONE), 120, "for all missions")
            crew.end(signal.SIGTERM, pid)
            figures = {**judge(crew, ALONE), **bills.judge(crew, ALONE)}
        finally:
            crew.stop()
    with closing(sqlite3.connect(path)) as database:
        checked = database.execute("PRAGMA integrity_check").fetchone()
    assert checked == ("ok",)
    say("kill -9 on SQLite", {**figures, "integrity_check": checked[0]})
