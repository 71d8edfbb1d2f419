"""What one machine keeps in the store another one finds there, and what is tidied up when."""

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.domain.blob import BlobKind, Drawer
from bot.evidence.bundle import write_bundle
from bot.evidence.keep import find_bundle
from bot.publish.story import build_story
from bot.settings import Settings
from bot.terminal.doctor import examine
from bot.terminal.log import run_log
from bot.terminal.replay import ReplayOrder, run_replay
from bot.wiring.storage import EARLIER, Storage, open_storage
from tests.builders import a_mission
from tests.s3_server import S3Server
from tests.unit.bot.evidence.test_bundle import a_bundle
from tests.unit.bot.mission.world import ADDS, CHECKOUT, a_world
from tests.unit.bot.terminal.test_replay import on

pytestmark = pytest.mark.anyio
Make = Callable[..., Settings]
LIVE = "mission:7:" + "a" * 40 + ":auto"


async def nobody(_: str) -> str | None:
    return None


@pytest.fixture
def bucket(s3: S3Server) -> dict[str, str]:
    """Settings that name a new bucket."""
    spec = s3.new_bucket("team")
    assert spec.key_id is not None
    assert spec.key is not None
    keys = {
        "storage__key_id": spec.key_id.get_secret_value(),
        "storage__key": spec.key.get_secret_value(),
    }
    return {"storage__url": str(spec.url), "storage__endpoint": str(spec.endpoint), **keys}


def test_what_a_mission_leaves_on_one_machine_is_read_on_another(
    settings: Make, bucket: dict[str, str], tmp_path: Path
) -> None:
    one, other = (
        settings(**bucket, data_dir=str(tmp_path / "1")),
        settings(**bucket, data_dir=str(tmp_path / "2")),
    )
    storage = Storage(one, SystemClock())

    async def mission() -> None:
        async with storage.logs.of(LIVE):
            logging.getLogger("bot.mission").warning("the key is %s", bucket["storage__key"])
        kept = await storage.evidence.keep(
            build_story(a_mission()), CHECKOUT, a_world().open_workspace
        )
        assert kept.name == "m-0001"

    asyncio.run(mission())
    assert not (tmp_path / "1").exists(), "nothing of it is on the machine"
    (line,) = run_log(LIVE, other).splitlines()
    assert "the key is" in json.loads(line)["message"]
    assert bucket["storage__key"] not in line
    result = run_replay(ReplayOrder(path="m-0001"), other, build=on(a_world(ADDS, base=None)))
    assert result.json_object["mission_id"] == "m-0001"


def test_the_doctor_tells_whether_the_store_answers(settings: Make, bucket: dict[str, str]) -> None:
    def told(given: Settings) -> tuple[str, str]:
        (finding,) = (one for one in examine(given) if one.subject == "storage")
        return finding.state, finding.message

    assert told(settings(**bucket)) == ("ok", f"{bucket['storage__url']} answers")
    state, message = told(settings(**bucket | {"storage__url": "s3://no-such-bucket"}))
    assert (state, "status 404" in message) == ("missing", True)
    assert "storage" not in {one.subject for one in examine(settings())}


async def test_what_an_earlier_version_kept_is_taken_over_before_anything_is_dropped(
    settings: Make,
) -> None:
    made = settings()
    earlier = made.data_dir / EARLIER
    earlier.mkdir(parents=True)
    (earlier / "m-0001.zip").write_bytes(write_bundle(a_bundle()))
    storage = Storage(made, SystemClock())
    await storage.blobs.put(Drawer(kind=BlobKind.STEPS, owner=LIVE), b"large")
    await storage.tidy(nobody, SystemClock().now() - timedelta(days=1))
    assert await find_bundle(storage.blobs, "m-0001.zip")
    assert len(await storage.blobs.list_blobs(BlobKind.STEPS)) == 1
    await storage.tidy(nobody, SystemClock().now() + timedelta(days=1))
    assert await storage.blobs.list_blobs(BlobKind.STEPS) == ()
    assert len(await storage.blobs.list_blobs(BlobKind.EVIDENCE)) == 1


async def test_a_store_that_is_away_is_tidied_up_another_time(
    settings: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = settings(storage__url=f"file://{tmp_path / 'shared'}")
    earlier = made.data_dir / EARLIER
    earlier.mkdir(parents=True)
    (earlier / "m-0001.zip").write_bytes(write_bundle(a_bundle()))
    (tmp_path / "shared").write_text("not a folder")
    await Storage(made, SystemClock()).tidy(nobody, SystemClock().now())
    assert "store cleanup failed" in caplog.text
    assert (earlier / "m-0001.zip").is_file()
    assert await open_storage(made).list_blobs(BlobKind.EVIDENCE) == ()
