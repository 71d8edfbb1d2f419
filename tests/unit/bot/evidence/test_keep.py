"""Where bundles go: into the store until the day that people are told, or into one file."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from bot.blobs.folder import FolderShelf, write_atomically
from bot.blobs.store import HashedStore
from bot.domain.blob import BlobKind
from bot.domain.evidence import Claim, EvidenceLimits, KeptEvidence
from bot.domain.mission import MissionContext, Outcome
from bot.errors import StoreError, UsageError
from bot.evidence.bundle import read_bundle, write_bundle
from bot.evidence.keep import EvidenceFile, EvidenceStore, bundle_name, find_bundle
from bot.evidence.replay import build_checkout
from bot.publish.story import build_story
from sandbox.errors import ImportRejected
from tests.builders import a_mission
from tests.fakes.fake_workspace import FakeSandboxes, FakeWorkspace
from tests.fakes.fixed_clock import FixedClock
from tests.unit.bot.evidence.test_bundle import a_bundle
from tests.unit.bot.mission.world import CHECKOUT, a_world

pytestmark = pytest.mark.anyio

LIVE = "mission:7:" + "a" * 40 + ":auto"


class Kept:
    """A store in a folder, and whoever keeps evidence in it."""

    def __init__(self, folder: Path, **limits: int) -> None:
        self.folder = folder
        self.blobs = HashedStore(FolderShelf(folder))
        self.clock = FixedClock()
        self.evidence = EvidenceStore(self.blobs, EvidenceLimits.model_validate(limits), self.clock)

    async def keep(self, context: MissionContext | None = None) -> KeptEvidence:
        kept = await self.evidence.keep(
            build_story(context or a_mission()), CHECKOUT, a_world().open_workspace
        )
        for path in self.files():
            if path.stat().st_mtime > self.clock.now().timestamp():
                self.age(path, days=0)
        return kept

    def age(self, path: Path, *, days: float) -> None:
        moment = (self.clock.now() - timedelta(days=days)).timestamp()
        os.utime(path, (moment, moment))

    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file())


async def test_a_bundle_is_kept_for_this_user_only_under_its_mission_and_hash(
    tmp_path: Path,
) -> None:
    world = Kept(tmp_path / "deep" / "blobs")
    kept = await world.keep()
    (path,) = world.files()
    assert (kept.name, kept.sha256, kept.size) == ("m-0001", path.name, path.stat().st_size)
    assert {p.stat().st_mode & 0o777 for p in world.folder.rglob("*") if p.is_dir()} == {0o700}
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_bundle(path.read_bytes()).claim.mission_id == "m-0001"


async def test_a_bundle_has_the_name_of_the_checkout_for_its_replay(tmp_path: Path) -> None:
    file, world = tmp_path / "bundle.zip", a_world()
    asked = CHECKOUT.with_(name="shop")
    story = build_story(a_mission())
    await EvidenceFile(file, EvidenceLimits()).keep(story, asked, world.open_workspace)
    bundle = read_bundle(file.read_bytes())
    assert build_checkout(bundle).name == bundle.claim.checkout_name == "shop"
    unnamed = bundle.claim.model_dump(exclude={"checkout_name"})
    assert Claim.model_validate(unnamed).checkout_name == ""


async def test_a_mission_that_never_ran_anything_has_none(tmp_path: Path) -> None:
    world = Kept(tmp_path)
    kept = await world.keep(a_mission(Outcome.POLICY, facts=None, triage=None, test_results=None))
    assert (kept.name, "before its first run" in kept.reason) == ("", True)
    assert world.files() == []


async def test_a_bundle_over_the_limit_is_not_kept(tmp_path: Path) -> None:
    kept = await Kept(tmp_path, bundle_bytes=100).keep()
    assert (kept.name, "evidence.bundle_bytes" in kept.reason) == ("", True)


async def test_a_bundle_stays_through_the_day_that_was_promised_and_goes_then(
    tmp_path: Path,
) -> None:
    world = Kept(tmp_path, days=3)
    kept = await world.keep()
    assert kept.until == (world.clock.now() + timedelta(days=3)).date().isoformat()
    (path,) = world.files()
    world.age(path, days=3.9)
    assert await world.evidence.forget() == 0
    world.age(path, days=4.1)
    assert await world.evidence.forget() == 1
    assert world.files() == []


async def test_no_promised_bundle_gives_way_to_a_new_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    size = (await Kept(tmp_path / "other").keep()).size
    world = Kept(tmp_path / "blobs", total_bytes=2 * size + 10)
    names = [(await world.keep(a_mission(mission_id=f"m-{number:04}"))).name for number in range(4)]
    assert names == ["m-0000", "m-0001", "", ""]
    assert "evidence not stored" in caplog.text
    assert "evidence.total_bytes" in (await world.keep()).reason
    for path in world.files():
        world.age(path, days=40)
    assert await world.evidence.forget() == 2
    again = EvidenceStore(world.blobs, EvidenceLimits(total_bytes=2 * size), world.clock)
    assert (await again.keep(build_story(a_mission()), CHECKOUT, a_world().open_workspace)).name


async def test_a_mission_that_ran_twice_keeps_what_was_promised_of_both(tmp_path: Path) -> None:
    world = Kept(tmp_path)
    first = await world.keep()
    second = await world.keep(a_mission(Outcome.NO_FIX))
    assert first.sha256 != second.sha256
    for kept in (first, second):
        found = read_bundle(await find_bundle(world.blobs, kept.sha256))
        assert found.claim.mission_id == "m-0001"
    with pytest.raises(UsageError, match="2 bundles") as raised:
        await find_bundle(world.blobs, "m-0001")
    assert first.sha256 in raised.value.advice


async def test_a_bundle_is_found_by_all_that_a_pull_request_ever_said_of_it(tmp_path: Path) -> None:
    world = Kept(tmp_path)
    kept = await world.keep(a_mission(mission_id=LIVE))
    for word in (LIVE, kept.sha256, bundle_name(LIVE)):
        assert read_bundle(await find_bundle(world.blobs, word)).claim.mission_id == LIVE


@pytest.mark.parametrize("word", ["", "missing.zip", "../../etc/passwd", "0" * 64, "\x1b[31m"])
async def test_a_bundle_that_is_not_there_is_wrong_use_whatever_it_is_called(
    tmp_path: Path, word: str
) -> None:
    world = Kept(tmp_path)
    await world.keep()
    with pytest.raises(UsageError, match="no file and no stored") as raised:
        await find_bundle(world.blobs, word)
    assert "\x1b" not in raised.value.message


async def test_bundles_of_an_earlier_version_are_taken_over_under_the_names_they_had(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world, before = Kept(tmp_path / "blobs"), tmp_path / "evidence"
    before.mkdir()
    bundle = a_bundle()
    name = bundle_name(bundle.claim.mission_id)
    (before / name).write_bytes(write_bundle(bundle))
    (before / "damaged.zip").write_bytes(b"PK")
    (before / "mine.txt").write_text("not ours")
    await world.evidence.take_over(before)
    assert sorted(path.name for path in before.iterdir()) == ["damaged.zip", "mine.txt"]
    assert "damaged.zip not imported" in caplog.text
    assert await find_bundle(world.blobs, name) == write_bundle(bundle)
    await world.evidence.take_over(tmp_path / "nothing here")
    assert len(await world.blobs.list_blobs(BlobKind.EVIDENCE)) == 1


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    target = tmp_path / "here"
    target.mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        write_atomically(target, b"x")
    assert [p.name for p in tmp_path.iterdir()] == ["here"]


async def test_a_file_for_evidence_says_why_there_is_none(tmp_path: Path) -> None:
    file = EvidenceFile(tmp_path / "e.zip", EvidenceLimits())
    assert "did not finish" in file.kept.reason
    broken = FakeSandboxes(lambda _: FakeWorkspace({}, broken=ImportRejected("the commit is gone")))
    kept = await file.keep(build_story(a_mission()), CHECKOUT, broken.open_workspace)
    assert kept == file.kept
    assert kept.reason == "the commit is gone"


@pytest.mark.parametrize(
    "mission_id",
    [
        "local:../../etc/passwd",
        "a/b",
        "",
        ".",
        "-rf",
        "x" * 500,
        "ü\udc80",
        "con",
        "octo/calc@abc:1",
    ],
)
def test_a_missions_id_is_no_way_out_of_the_folder(mission_id: str) -> None:
    name = bundle_name(mission_id)
    assert name.endswith(".zip")
    assert len(name) <= 100
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
    assert not name.startswith("-x")
    assert bundle_name(mission_id + "2") != name
