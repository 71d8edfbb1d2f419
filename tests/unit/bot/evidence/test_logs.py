"""What was logged while a mission ran: its own lines, masked, also when it broke."""

import asyncio
import io
import json
import logging
from pathlib import Path

import pytest
from pydantic import SecretStr
from typing_extensions import override

from bot.blobs.folder import FolderShelf
from bot.blobs.store import HashedStore
from bot.domain.blob import BlobKind, Drawer
from bot.errors import StoreError
from bot.evidence.logs import MissionLogs, read_logs
from bot.telemetry import set_up_logging

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("loggers_as_they_were")]
log = logging.getLogger("bot.mission.stage")


@pytest.fixture
def blobs(tmp_path: Path) -> HashedStore:
    return HashedStore(FolderShelf(tmp_path))


@pytest.fixture
def logs(blobs: HashedStore) -> MissionLogs:
    set_up_logging(stream=io.StringIO())
    return MissionLogs(blobs, [SecretStr("hunter2hunter2")])


async def messages(blobs: HashedStore, mission: str) -> list[list[str]]:
    parts = await read_logs(blobs, mission)
    return [[json.loads(line)["message"] for line in part.splitlines()] for part in parts]


async def test_each_mission_keeps_its_own_lines_also_those_of_its_tasks_and_threads(
    logs: MissionLogs, blobs: HashedStore
) -> None:
    async def mission(name: str) -> None:
        async with logs.of(name):
            log.info("begins %s", name)
            await asyncio.sleep(0)
            await asyncio.to_thread(log.info, "in a thread of %s", name)
            await asyncio.create_task(asyncio.to_thread(log.debug, "below the level"))

    log.info("before")
    await asyncio.gather(mission("a"), mission("b"))
    log.info("after")
    for name in ("a", "b"):
        assert await messages(blobs, name) == [[f"begins {name}", f"in a thread of {name}"]]


async def test_secrets_are_masked_before_anything_is_stored(
    logs: MissionLogs, blobs: HashedStore
) -> None:
    async with logs.of("m"):
        log.warning("the key is %s", "hunter2hunter2", extra={"detail": "hunter2hunter2"})
        try:
            int("hunter2hunter2")
        except ValueError:
            log.exception("broke")
    (part,) = await read_logs(blobs, "m")
    assert b"broke" in part
    assert b"hunter2" not in part


async def test_a_mission_that_is_cancelled_or_breaks_keeps_what_it_said(
    logs: MissionLogs, blobs: HashedStore
) -> None:
    async def mission(line: str, seconds: float) -> None:
        async with logs.of("m"):
            log.info(line)
            await asyncio.sleep(seconds)
            raise ZeroDivisionError

    task = asyncio.create_task(mission("waits", 60))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ZeroDivisionError):
        await mission("goes on elsewhere", 0)
    assert sorted(await messages(blobs, "m")) == [["goes on elsewhere"], ["waits"]]


async def test_a_mission_that_says_nothing_keeps_nothing(
    logs: MissionLogs, blobs: HashedStore
) -> None:
    async with logs.of("m"):
        pass
    assert await blobs.list_blobs(BlobKind.LOGS) == ()


async def test_the_last_lines_stay_when_there_are_too_many(blobs: HashedStore) -> None:
    logs = MissionLogs(blobs, most=2000)
    async with logs.of("m"):
        for number in range(30):
            log.warning("line %d", number)
    (content,) = await read_logs(blobs, "m")
    first, *_, last = content.splitlines()
    assert len(content) < 2100
    assert "lines before these were dropped" in json.loads(first)["message"]
    assert json.loads(last)["message"] == "line 29"


class Away(HashedStore):
    """A store out of reach."""

    @override
    async def put(self, drawer: Drawer, content: bytes) -> str:
        raise StoreError("no answer")


async def test_a_store_out_of_reach_costs_the_mission_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logs = MissionLogs(Away(FolderShelf(tmp_path)))
    async with logs.of("m"):
        log.warning("something")
    assert logs not in logging.getLogger().handlers
    assert "storing the mission log failed: no answer" in caplog.text
