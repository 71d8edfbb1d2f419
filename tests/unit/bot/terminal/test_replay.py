"""metaagent replay: what is refused, what a person gets, what a program gets."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.blobs.folder import FolderShelf
from bot.blobs.store import HashedStore
from bot.cli import main
from bot.domain.blob import BlobKind, Drawer
from bot.errors import UsageError
from bot.pipeline import MissionServices, OpenProgress
from bot.settings import Settings
from bot.terminal.fix import FixOrder, run_fix
from bot.terminal.replay import ReplayOrder, ReplayResult, run_replay
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.fakes.scripted_workspace import World
from tests.unit.bot.mission.world import ADDS, EVEN, MENDED, PATH, a_world, one_step_at_a_time

pytestmark = pytest.mark.usefixtures("loggers_as_they_were")
Make = Callable[..., Settings]
FIELDS = {
    *(
        "verdict",
        "reason",
        "mission_id",
        "outcome",
        "head_sha",
        "bundle_sha256",
        "compared",
        "environment",
    ),
    *("notes", "red_output", "seconds"),
}


def on(world: World) -> Callable[[Settings, OpenProgress], MissionServices]:
    def build(settings: Settings, open_progress: OpenProgress) -> MissionServices:
        return MissionServices(
            open_workspace=world.open_workspace,
            fixers=(ScriptedFixer(one_step_at_a_time),),
            lessons=MemoryLessons(),
            clock=FixedClock(),
            open_progress=open_progress,
        )

    return build


@pytest.fixture
def bundle(settings: Make, tmp_path: Path) -> Path:
    """The evidence of a fixed folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / PATH).write_text(ADDS)
    file = tmp_path / "evidence.zip"
    order = FixOrder(path=str(folder), evidence=str(file), as_json=True)
    run_fix(order, settings(), build=on(a_world(ADDS, base=None)))
    return file


def replayed(
    bundle: Path, settings: Make, source: str = ADDS, *, keep_red: bool = False
) -> ReplayResult:
    order = ReplayOrder(path=str(bundle), keep_red=keep_red)
    return run_replay(order, settings(), build=on(a_world(source, base=None)))


def test_a_person_sees_claims_beside_measurements(settings: Make, bundle: Path) -> None:
    text = replayed(bundle, settings).text
    assert text.startswith("CONFIRMED: red as claimed")
    row = next(line for line in text.splitlines() if EVEN in line)
    assert row.split()[1:] == ["fail", "fail", "same"]
    assert "environment" in text
    assert "symbolic links" in text, "what the bundle leaves out is said"
    assert hashlib.sha256(bundle.read_bytes()).hexdigest() in text


def test_a_difference_stands_out(settings: Make, bundle: Path) -> None:
    result = replayed(bundle, settings, MENDED)
    assert (result.verdict, result.text.startswith("NOT CONFIRMED")) == ("NOT CONFIRMED", True)
    assert any("DIFFERS" in line and EVEN in line for line in result.text.splitlines())


def test_a_program_gets_every_field(settings: Make, bundle: Path) -> None:
    found = replayed(bundle, settings).json_object
    assert found.keys() == FIELDS
    assert json.loads(json.dumps(found)) == found
    assert found["red_output"] is None


def test_every_field_is_documented() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "evidence.md").read_text()
    assert {field for field in FIELDS if f"`{field}`" not in page} == set()


def test_the_red_output_is_shown_when_it_is_asked_for(settings: Make, bundle: Path) -> None:
    result = replayed(bundle, settings, keep_red=True)
    assert "FAILED" in result.json_object["red_output"]
    assert "output of the unpatched run" in result.text


def test_a_bundle_is_replayed_from_the_store_by_what_the_pull_request_says_of_it(
    settings: Make, bundle: Path, tmp_path: Path
) -> None:
    content = bundle.read_bytes()
    store = HashedStore(FolderShelf(tmp_path / "shared"))
    digest = asyncio.run(
        store.put(Drawer(kind=BlobKind.EVIDENCE, owner="mission:1:abc:auto"), content)
    )
    there = settings(storage__url=f"file://{tmp_path / 'shared'}")
    for word in ("mission:1:abc:auto", digest):
        result = run_replay(ReplayOrder(path=word), there, build=on(a_world(ADDS, base=None)))
        assert (result.verdict, result.json_object["bundle_sha256"]) == ("CONFIRMED", digest)
    with pytest.raises(UsageError, match="no file and no stored"):
        run_replay(ReplayOrder(path=digest), settings())


def test_a_file_that_is_not_there_or_too_large_is_wrong_use(
    settings: Make, bundle: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no file and no stored"):
        run_replay(ReplayOrder(path=str(tmp_path / "missing.zip")), settings())
    with pytest.raises(UsageError, match="cannot be read"):
        run_replay(ReplayOrder(path=str(tmp_path)), settings())
    with pytest.raises(UsageError, match=r"evidence\.bundle_bytes|larger than"):
        run_replay(ReplayOrder(path=str(bundle)), settings(evidence__bundle_bytes="10"))


def test_what_is_no_bundle_is_status_2_and_says_whose_fault_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b.zip").write_bytes(b"PK nonsense")
    assert main(["replay", str(tmp_path / "b.zip"), "--json", "--data-dir", str(tmp_path)]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["outcome"], found["fault"]) == ("ERROR", "user")
    assert found["advice"]


def test_names_out_of_a_bundle_are_gated_on_their_way_to_the_terminal(
    settings: Make, bundle: Path
) -> None:
    from bot.evidence.bundle import read_bundle, write_bundle

    hostile = read_bundle(bundle.read_bytes())
    claim = hostile.claim.with_(mission_id="m\x1b]0;owned\x07", outcome="FIXED\x1b[31m\nCONFIRMED")
    bundle.write_bytes(write_bundle(hostile.with_(claim=claim)))
    result = replayed(bundle, settings)
    assert result.verdict == "NOT CONFIRMED"
    assert "\x1b" not in result.text + json.dumps(result.json_object)
    assert "\\u001b" not in json.dumps(result.json_object)
