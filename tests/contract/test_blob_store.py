"""What every store of large values keeps to."""

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from bot.blobs.bucket import BucketShelf
from bot.blobs.folder import FolderShelf
from bot.blobs.shelf import Shelf
from bot.blobs.store import HashedStore
from bot.domain.blob import BlobKind, Drawer
from bot.errors import BlobLost, BlobRefused
from tests.s3_server import S3Server

pytestmark = pytest.mark.anyio

STEPS = Drawer(kind=BlobKind.STEPS, owner="mission:12:" + "a" * 40 + ":c7")
VALUE = b"\x00\xff large \r\n" * 1000


@dataclass(frozen=True)
class World:
    """A store, and a way to what it stands on."""

    shelf: Shelf
    store: HashedStore

    def only_key(self) -> str:
        (entry,) = self.shelf.entries("steps")
        return entry.key


@pytest.fixture(params=["folder", "bucket", "bucket with a prefix"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    shelf: Shelf = FolderShelf(tmp_path / "data" / "blobs")
    if request.param != "folder":
        server: S3Server = request.getfixturevalue("s3")
        shelf = BucketShelf(
            server.new_bucket("team/metaagent/" if "prefix" in request.param else "")
        )
    return World(shelf, HashedStore(shelf, most=1 << 20))


async def test_a_value_comes_back_as_it_was_put_under_its_sha256(world: World) -> None:
    digest = await world.store.put(STEPS, VALUE)
    assert digest == hashlib.sha256(VALUE).hexdigest()
    assert await world.store.get(STEPS, digest) == VALUE
    empty = await world.store.put(STEPS, b"")
    assert await world.store.get(STEPS, empty) == b""


async def test_the_same_value_is_kept_once_in_a_drawer(world: World) -> None:
    assert await world.store.put(STEPS, VALUE) == await world.store.put(STEPS, VALUE)
    (blob,) = await world.store.list_blobs(BlobKind.STEPS)
    assert (blob.drawer, blob.size) == (STEPS, len(VALUE))


async def test_what_was_never_put_is_lost_and_so_is_what_another_drawer_holds(world: World) -> None:
    digest = await world.store.put(STEPS, VALUE)
    with pytest.raises(BlobLost, match="is not in the store"):
        await world.store.get(STEPS, "0" * 64)
    with pytest.raises(BlobLost, match="is not in the store"):
        await world.store.get(Drawer(kind=BlobKind.LOGS, owner=STEPS.owner), digest)


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
async def test_what_is_no_digest_is_not_looked_for(world: World, digest: str) -> None:
    with pytest.raises(BlobLost, match="is not a SHA-256"):
        await world.store.get(STEPS, digest)


@pytest.mark.parametrize("damaged", [VALUE[:-1], VALUE + b"x", b"", b"x" * (1 << 20) + b"y"])
async def test_a_damaged_value_is_not_given_and_putting_it_again_heals_it(
    world: World, damaged: bytes
) -> None:
    digest = await world.store.put(STEPS, VALUE)
    world.shelf.write(world.only_key(), damaged)
    with pytest.raises(BlobLost, match="damaged"):
        await world.store.get(STEPS, digest)
    await world.store.put(STEPS, VALUE)
    assert await world.store.get(STEPS, digest) == VALUE


async def test_a_value_over_the_limit_is_refused_and_leaves_nothing(world: World) -> None:
    with pytest.raises(BlobRefused, match="exceeds the limit"):
        await world.store.put(STEPS, b"x" * ((1 << 20) + 1))
    assert await world.store.list_blobs(BlobKind.STEPS) == ()


OWNERS = [
    "../../../etc",
    "a/b",
    "a_2fb",
    ".",
    "-rf",
    "ü €",
    "a\x00b",
    "A",
    "a",
    "mission:1:" + "0" * 40 + ":auto",
]


async def test_every_owner_has_a_drawer_of_its_own_whatever_its_name(world: World) -> None:
    drawers = [Drawer(kind=BlobKind.STEPS, owner=owner) for owner in OWNERS]
    digests = [await world.store.put(drawer, drawer.owner.encode()) for drawer in drawers]
    assert {blob.drawer.owner for blob in await world.store.list_blobs(BlobKind.STEPS)} == set(
        OWNERS
    )
    for drawer, digest in zip(drawers, digests, strict=True):
        (blob,) = await world.store.list_blobs(BlobKind.STEPS, drawer.owner)
        assert (blob.digest, await world.store.get(drawer, digest)) == (
            digest,
            drawer.owner.encode(),
        )


async def test_a_name_that_no_shelf_takes_is_refused(world: World) -> None:
    with pytest.raises(BlobRefused, match="too long"):
        await world.store.put(Drawer(kind=BlobKind.STEPS, owner="x" * 300), VALUE)


async def test_what_is_dropped_is_gone_and_the_rest_stays(world: World) -> None:
    bundle = Drawer(kind=BlobKind.EVIDENCE, owner="m-1")
    await world.store.put(STEPS, VALUE)
    digest = await world.store.put(bundle, VALUE)
    steps = await world.store.list_blobs(BlobKind.STEPS)
    await world.store.drop(steps)
    await world.store.drop(steps)
    await world.store.drop(())
    assert await world.store.list_blobs(BlobKind.STEPS) == ()
    assert await world.store.get(bundle, digest) == VALUE


async def test_the_oldest_stand_first_and_nothing_foreign_is_listed(world: World) -> None:
    drawer = Drawer(kind=BlobKind.LOGS, owner="m")
    for text in (b"one", b"two"):
        await world.store.put(drawer, text)
    for foreign in ("logs/m/notes", "logs/m/.writing-0", "logs/notes", f"other/m/{'0' * 64}"):
        world.shelf.write(foreign, b"of somebody else")
    kept = await world.store.list_blobs(BlobKind.LOGS, "m")
    assert [blob.kept_at for blob in kept] == sorted(blob.kept_at for blob in kept)
    assert {blob.size for blob in kept} == {3}
    assert len(kept) == 2
    now = kept[-1].kept_at
    assert await world.store.list_blobs(BlobKind.LOGS, before=now + timedelta(minutes=1)) == kept
    assert await world.store.list_blobs(BlobKind.LOGS, before=now - timedelta(minutes=1)) == ()


async def test_what_a_kind_takes_is_added_up(world: World) -> None:
    await world.store.put(STEPS, VALUE)
    await world.store.put(Drawer(kind=BlobKind.STEPS, owner="other"), VALUE)
    await world.store.put(Drawer(kind=BlobKind.LOGS, owner="other"), b"1234")
    assert (
        await world.store.total_bytes(BlobKind.STEPS),
        await world.store.total_bytes(BlobKind.LOGS),
    ) == (
        2 * len(VALUE),
        4,
    )
    assert await world.store.total_bytes(BlobKind.EVIDENCE) == 0


async def test_what_is_foreign_or_half_written_takes_no_room_and_what_is_kept_is_never_cleared_up(
    world: World,
) -> None:
    await world.store.put(STEPS, VALUE)
    for foreign in ("steps/notes", "steps/.writing-0", "steps/m/.writing-1"):
        world.shelf.write(foreign, VALUE)
    assert await world.store.total_bytes(BlobKind.STEPS) == len(VALUE)
    assert await world.store.clear_up() == 0, "somebody may be writing it at this moment"
    assert await world.store.total_bytes(BlobKind.STEPS) == len(VALUE)
