"""Where bundles go: atomically, for this user only, within limits of size and age."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.evidence import EvidenceLimits, KeptEvidence
from bot.domain.mission import MissionContext, Outcome
from bot.errors import StoreError
from bot.evidence.bundle import read_bundle
from bot.evidence.keep import EvidenceFile, EvidenceFolder, bundle_name, write_atomically
from bot.publish.story import a_story
from sandbox.errors import ImportRejected
from tests.builders import a_mission
from tests.fakes.fake_workspace import FakeSandboxes, FakeWorkspace
from tests.fakes.fixed_clock import FixedClock
from tests.unit.bot.mission.world import CHECKOUT, a_world

pytestmark = pytest.mark.anyio


async def keep(folder: Path, context: MissionContext | None = None, **limits: int) -> KeptEvidence:
    keeper = EvidenceFolder(folder, EvidenceLimits.model_validate(limits), FixedClock())
    return await keeper.keep(a_story(context or a_mission()), CHECKOUT, a_world().open_workspace)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_a_bundle_is_kept_for_this_user_only(tmp_path: Path) -> None:
    kept = await keep(tmp_path / "deep" / "evidence")
    path = tmp_path / "deep" / "evidence" / kept.name
    assert kept.name == "m-0001.zip"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert path.stat().st_size == kept.size
    assert read_bundle(path.read_bytes()).claim.mission_id == "m-0001"
    assert names(path.parent) == {kept.name}, "nothing half written is left"


async def test_a_mission_that_never_ran_anything_has_none(tmp_path: Path) -> None:
    kept = await keep(tmp_path, a_mission(Outcome.POLICY, facts=None, triage=None, test_results=None))
    assert (kept.name, "never came as far" in kept.reason) == ("", True)
    assert names(tmp_path) == set()


async def test_a_bundle_over_the_limit_is_not_kept(tmp_path: Path) -> None:
    kept = await keep(tmp_path, bundle_bytes=100)
    assert (kept.name, "evidence.bundle_bytes" in kept.reason) == ("", True)


async def test_what_is_old_and_what_is_too_much_gives_way_oldest_first(tmp_path: Path) -> None:
    now = FixedClock().now()
    for name, days, size in (("a.zip", 40, 10), ("b.zip", 3, 10), ("c.zip", 2, 10_000), ("d.zip", 1, 10)):
        (tmp_path / name).write_bytes(b"x" * size)
        moment = (now - timedelta(days=days)).timestamp()
        os.utime(tmp_path / name, (moment, moment))
    (tmp_path / "mine.txt").write_text("not ours")
    half = tmp_path / ".writing-00"
    half.write_text("of a process that died")
    os.utime(half, (now.timestamp() - 7200, now.timestamp() - 7200))
    kept = await keep(tmp_path, total_bytes=9000)
    assert names(tmp_path) == {"d.zip", "mine.txt", kept.name}


async def test_the_newest_stays_even_when_it_alone_is_over_the_limit(tmp_path: Path) -> None:
    kept = await keep(tmp_path, total_bytes=1)
    assert (tmp_path / kept.name).is_file()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    target = tmp_path / "here"
    target.mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        write_atomically(target, b"x")
    assert [p.name for p in tmp_path.iterdir()] == ["here"]


async def test_a_file_for_evidence_says_why_there_is_none(tmp_path: Path) -> None:
    file = EvidenceFile(tmp_path / "e.zip", EvidenceLimits())
    assert "broke" in file.kept.reason
    broken = FakeSandboxes(lambda _: FakeWorkspace({}, broken=ImportRejected("the commit is gone")))
    kept = await file.keep(a_story(a_mission()), CHECKOUT, broken.open_workspace)
    assert kept == file.kept
    assert kept.reason == "the commit is gone"


@pytest.mark.parametrize(
    "mission_id", ["local:../../etc/passwd", "a/b", "", ".", "-rf", "x" * 500, "ü\udc80", "con", "octo/calc@abc:1"]
)
def test_a_missions_id_is_no_way_out_of_the_folder(mission_id: str) -> None:
    name = bundle_name(mission_id)
    assert name.endswith(".zip")
    assert len(name) <= 100
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
    assert not name.startswith("-x")
    assert bundle_name(mission_id + "2") != name
