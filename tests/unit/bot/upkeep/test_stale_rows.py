"""Whose end could not be written down is not under way for ever."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.registry import LiveMission
from bot.registry.stored import StoredRegistry
from bot.store.database import Database
from bot.upkeep.stale_rows import AGE, end_stale_rows
from tests.builders import a_repository
from tests.databases import BOTH, a_database_of

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(params=BOTH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    return a_database_of(request.param, request, tmp_path)


def a_mission(name: str, ago: timedelta) -> LiveMission:
    since = (NOW - ago).isoformat()
    return LiveMission(mission_id=name, repository=a_repository(), branch="main", since=since)


async def test_only_what_is_old_and_neither_waits_nor_runs_is_ended(database: Database) -> None:
    registry, old = StoredRegistry(database), AGE + timedelta(seconds=1)
    states = {
        "runs": "running",
        "waits": "waiting",
        "done": "done",
        "failed": "failed",
        "stopped": "cancelled",
    }
    for name in (*states, "unknown"):
        await registry.begin(a_mission(name, old))
    await registry.begin(a_mission("young", AGE - timedelta(seconds=1)))

    async def status(mission: str) -> str | None:
        return states.get(mission)

    assert set(await end_stale_rows(database, status, NOW)) == {
        "done",
        "failed",
        "stopped",
        "unknown",
    }
    assert {one.mission_id for one in await registry.live(42)} == {"runs", "waits", "young"}
    assert await end_stale_rows(database, status, NOW) == ()


async def test_who_is_begun_anew_while_the_queue_is_asked_is_no_ghost(database: Database) -> None:
    registry = StoredRegistry(database)
    await registry.begin(a_mission("m-1", 2 * AGE))

    async def status(_: str) -> str | None:
        await registry.begin(a_mission("m-1", timedelta()))
        return None

    assert await end_stale_rows(database, status, NOW) == ()
    assert [one.mission_id for one in await registry.live(42)] == ["m-1"]
