"""What a mission that lives may still need is not dropped."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.blobs.folder import FolderShelf
from bot.blobs.retention import forget_missions
from bot.blobs.store import HashedStore
from bot.domain.blob import BlobKind, Drawer
from bot.errors import QueueError

pytestmark = pytest.mark.anyio

BEFORE = datetime(2026, 1, 2, tzinfo=UTC)


class Old:
    """A store whose values are as old as is said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.blobs = HashedStore(FolderShelf(folder))

    async def put(self, kind: BlobKind, owner: str, content: bytes, *, days: float) -> None:
        digest = await self.blobs.put(Drawer(kind=kind, owner=owner), content)
        (path,) = self.folder.rglob(digest)
        moment = (BEFORE - timedelta(days=days)).timestamp()
        os.utime(path, (moment, moment))

    async def owners(self, kind: BlobKind) -> list[str]:
        return sorted({blob.drawer.owner for blob in await self.blobs.list_blobs(kind)})


async def test_only_what_is_old_and_of_a_forgotten_mission_goes(tmp_path: Path) -> None:
    world = Old(tmp_path)
    asked: list[str] = []

    async def known(mission: str) -> str | None:
        asked.append(mission)
        return {"waits for a person": "waiting", "begun again": "running"}.get(mission)

    await world.put(BlobKind.STEPS, "forgotten", b"1", days=2)
    await world.put(BlobKind.STEPS, "forgotten", b"2", days=1)
    await world.put(BlobKind.LOGS, "forgotten", b"3", days=1)
    await world.put(BlobKind.STEPS, "waits for a person", b"4", days=400)
    await world.put(BlobKind.STEPS, "begun again", b"5", days=400)
    await world.put(BlobKind.STEPS, "begun again", b"6", days=-1)
    await world.put(BlobKind.STEPS, "young", b"8", days=-1)
    await world.put(BlobKind.EVIDENCE, "forgotten", b"7", days=400)
    assert await forget_missions(world.blobs, known, BEFORE) == 3
    assert await world.owners(BlobKind.STEPS) == ["begun again", "waits for a person", "young"]
    assert len(await world.blobs.list_blobs(BlobKind.STEPS, "begun again")) == 2
    assert await world.owners(BlobKind.LOGS) == []
    assert await world.owners(BlobKind.EVIDENCE) == ["forgotten"], "evidence goes on its own day"
    assert "young" not in asked, "the engine is not asked about everything"


async def test_what_was_never_finished_goes_with_the_old_and_counts_as_nothing_before(
    tmp_path: Path,
) -> None:
    world = Old(tmp_path)

    async def known(_: str) -> str:
        return "running"

    await world.put(BlobKind.EVIDENCE, "m", b"12345", days=0)
    cut_off = tmp_path / "evidence" / ".writing-0123456789abcdef"
    cut_off.write_bytes(b"x" * 1000)
    os.utime(cut_off, (BEFORE.timestamp(),) * 2)
    assert await world.blobs.total_bytes(BlobKind.EVIDENCE) == 5
    assert await forget_missions(world.blobs, known, BEFORE - timedelta(days=30)) == 1
    assert not cut_off.exists()
    assert await world.owners(BlobKind.EVIDENCE) == ["m"]


async def test_while_nobody_can_tell_what_lives_nothing_is_dropped(tmp_path: Path) -> None:
    world = Old(tmp_path)
    await world.put(BlobKind.STEPS, "m", b"1", days=400)

    async def known(_: str) -> str | None:
        raise QueueError("the database is away")

    with pytest.raises(QueueError):
        await forget_missions(world.blobs, known, BEFORE)
    assert await world.owners(BlobKind.STEPS) == ["m"]
