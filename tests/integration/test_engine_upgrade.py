"""Missions in flight, left by the previous release with the previous dbos, are finished by the present ones."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.queue.engine import DurableEngine, EngineTiming
from bot.queue.rows import PROTOCOL
from tests.older_engine import IN_FLIGHT, STEPS, WAITING, handlers

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LEFT = Path(__file__).parents[1] / "data" / "older_engine.sql"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file it left."""
    file = tmp_path / "engine.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(LEFT.read_text())
        versions = database.execute(
            "SELECT DISTINCT application_version FROM workflow_status"
        ).fetchall()
    assert versions == [(PROTOCOL,)], (
        "an upgrade strands missions in flight: tell operators to let them end first"
    )
    return file


def schema(file: Path) -> int:
    with closing(sqlite3.connect(file)) as database:
        return int(database.execute("SELECT version FROM dbos_migrations").fetchone()[0])


async def test_missions_of_the_previous_library_are_finished_and_no_step_is_run_again(
    file: Path,
) -> None:
    ran: list[tuple[str, str]] = []
    before = schema(file)
    engine = DurableEngine(
        f"sqlite:///{file}",
        handlers(lambda mission, step: ran.append((mission, step))),
        pace=EngineTiming(poll_s=0.05),
    )
    await engine.launch()
    try:
        async with asyncio.timeout(60):
            for mission in (IN_FLIGHT, WAITING):
                while await engine.status(mission) != "done":  # noqa: ASYNC110 (nobody tells of it)
                    await asyncio.sleep(0.05)
        assert await engine.steps(IN_FLIGHT) == STEPS
    finally:
        await engine.close()
    assert sorted(ran) == [(IN_FLIGHT, STEPS[1]), (WAITING, STEPS[0]), (WAITING, STEPS[1])]
    assert schema(file) > before, (
        "made by the present library: make it anew with the one before (tests/older_engine.py)"
    )
