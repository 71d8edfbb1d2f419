"""metaagent improve --continuous: missions in a row on a folder, one budget, each known to the next."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.cli import main
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, RungNote
from bot.domain.policy import Limits
from bot.errors import UsageError
from bot.improve.target import MARKER
from bot.pipeline import MissionServices, OpenProgress
from bot.settings import Settings
from bot.terminal.continuous import run_continuous
from bot.terminal.improve import ImproveOrder, ImproveResult, run_rollback
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.unit.bot.mission.world import (
    ADDS,
    BROKEN,
    MENDED,
    PATH,
    a_fix,
    a_world,
    one_step_at_a_time,
)

pytestmark = pytest.mark.usefixtures("loggers_as_they_were")
Make = Callable[..., Settings]
Answer = Callable[[dict[str, str], MissionContext], list[Candidate | RungNote]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / PATH).write_text(BROKEN)
    return project


class Bench:
    """Services whose missions have one iteration each, so that two bugs take two missions."""

    def __init__(self, source: str = BROKEN, fixer: Answer = one_step_at_a_time) -> None:
        self.world = a_world(source, base=None)
        self.lessons = MemoryLessons()
        self.fixer = ScriptedFixer(fixer)

    def build(self, _: Settings, open_progress: OpenProgress) -> MissionServices:
        return MissionServices(
            open_workspace=self.world.open_workspace,
            fixers=(self.fixer,),
            lessons=self.lessons,
            clock=FixedClock(),
            open_progress=open_progress,
            limits=Limits(iterations=1),
        )

    def run(self, folder: Path, settings: Settings, **options: object) -> ImproveResult:
        values = {"target": str(folder), "command": "pytest -q", "cycles": 3, **options}
        order = ImproveOrder(**values)  # type: ignore[arg-type]
        return run_continuous(order, settings, build=self.build)


def only_the_first(files: dict[str, str], _: MissionContext) -> list[Candidate | RungNote]:
    return [] if files[PATH] == ADDS else [a_fix(ADDS)]


def test_missions_follow_each_other_until_the_folder_is_green(settings: Make, folder: Path) -> None:
    result = Bench().run(folder, settings())
    assert result.ok, result.message
    assert result.message.startswith("FIXED after 2 missions")
    missions = result.data["missions"]
    assert [one["outcome"] for one in missions] == ["PARTIAL", "FIXED"]
    # The reported one has the id of the request.
    assert missions[0]["mission_id"] == f"{missions[1]['mission_id']}-1"
    assert result.data["promoted"] is True
    assert (folder / PATH).read_text() == MENDED


def test_what_one_mission_learned_the_next_one_recalls(settings: Make, folder: Path) -> None:
    bench = Bench()
    first, second = bench.run(folder, settings()).data["missions"]
    assert first["recalled"] == []
    assert second["recalled"] == [first["mission_id"]]
    outcomes = {one.id: one.outcome for one in bench.lessons.lessons.values()}
    assert outcomes == {first["mission_id"]: "PARTIAL", second["mission_id"]: "FIXED"}


def test_the_limit_ends_the_row_and_nothing_is_put_in_place(settings: Make, folder: Path) -> None:
    result = Bench().run(folder, settings(), cycles=1)
    assert not result.ok
    assert [one["outcome"] for one in result.data["missions"]] == ["PARTIAL"]
    assert result.data["promoted"] is False
    assert (folder / PATH).read_text() == BROKEN


def test_a_mission_without_a_result_ends_the_row_and_leaves_its_lesson(
    settings: Make, folder: Path
) -> None:
    bench = Bench(fixer=only_the_first)
    result = bench.run(folder, settings())
    assert [one["outcome"] for one in result.data["missions"]] == ["PARTIAL", "NO_FIX"]
    assert result.message.startswith("PARTIAL after 2 missions")
    assert {one.outcome for one in bench.lessons.lessons.values()} == {"PARTIAL", "NO_FIX"}


def test_a_green_folder_needs_no_mission(settings: Make, folder: Path) -> None:
    (folder / PATH).write_text(MENDED)
    with pytest.raises(UsageError, match="passes"):
        Bench(MENDED).run(folder, settings())


def test_evaluate_only_puts_nothing_in_place(settings: Make, folder: Path) -> None:
    result = Bench().run(folder, settings(), evaluate_only=True)
    assert (result.ok, result.data["promoted"]) == (True, False)
    assert result.data["missions"][1]["diff"]
    assert (folder / PATH).read_text() == BROKEN


def test_a_file_that_a_person_edits_meanwhile_is_left_alone(settings: Make, folder: Path) -> None:
    (folder / PATH).write_text("# mine\n")
    result = Bench().run(folder, settings())
    assert not result.ok
    assert result.message.startswith("the fix is not in place")
    assert (folder / PATH).read_text() == "# mine\n"


def test_a_fix_can_be_rolled_back_unless_its_file_was_edited_since(
    settings: Make, folder: Path
) -> None:
    result = Bench().run(folder, settings())
    assert Path(result.data["backup"]).is_dir()
    file = folder / PATH
    file.write_text(f"{MENDED}# mine\n")
    with pytest.raises(UsageError, match="no promoted version"):
        run_rollback(None, settings())
    file.write_text(MENDED)
    with pytest.raises(UsageError, match="no promoted version"):
        run_rollback(str(folder / "other.py"), settings())
    rolled = run_rollback(str(file), settings())
    assert (rolled.ok, rolled.data["files"]) == (True, [str(file)])
    assert file.read_text() == BROKEN
    with pytest.raises(UsageError, match="no promoted version"):
        run_rollback(None, settings())


def test_a_working_copy_is_refused(settings: Make, folder: Path) -> None:
    (folder / MARKER).touch()
    with pytest.raises(UsageError, match="belongs to the working copy"):
        Bench().run(folder, settings())


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["self"], "--continuous repairs a folder, not self"),
        (["rollback"], "--continuous repairs a folder, not rollback"),
        (["no-such-folder"], "is not a folder"),
        ([".", "--cycles", "11"], "--cycles must be between 1 and 10"),
        ([".", "--cycles", "0"], "--cycles must be between 1 and 10"),
        ([], "the target is missing"),
    ],
)
def test_wrong_use_is_one_object_and_status_1(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    wanted: str,
) -> None:
    monkeypatch.setenv("METAAGENT_DATA_DIR", str(tmp_path / "data"))
    assert main(["improve", "--continuous", *words]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], wanted in found["message"]) == ("FAILURE", True), found
