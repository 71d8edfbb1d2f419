"""Cycles: what is promoted, what is left alone, and one line of history for each of them."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.errors import UsageError
from bot.improve.values import CycleRecord
from bot.settings import Settings
from bot.terminal.improve import run_rollback
from sandbox.errors import SetupFailed
from sandbox.types import CommandResult, RunVerdict, TestReport
from tests.fakes.fake_workspace import Files, quiet
from tests.fakes.scripted_workspace import a_run
from tests.unit.bot.improve.world import BETTER, FLAWED, ImprovementWorld, failed

Make = Callable[..., Settings]
TESTS = "from stock import has\n\n\ndef test_has():\n    assert has([1], 1)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[project]\nname = 'stock'\n")
    (folder / "stock.py").write_text(FLAWED)
    (folder / "test_stock.py").write_text(TESTS)
    return folder


def records(world: ImprovementWorld) -> list[CycleRecord]:
    return [CycleRecord.model_validate_json(line) for line in world.lines]


def test_an_improvement_is_promoted_with_a_backup(settings: Make, project: Path) -> None:
    world = ImprovementWorld(settings(), judge=lambda f, c: a_run({"test_stock.py::test_has": ""}))
    result = world.improve(project / "stock.py")
    assert result.ok
    assert (project / "stock.py").read_text() == BETTER
    (record,) = records(world)
    assert record.status == "SUCCESS_PROMOTED"
    assert (Path(record.backup) / "previous").read_text() == FLAWED
    assert [check.name for check in record.evaluation.checks] == [
        "guard",
        "compiles",
        "import",
        "tests",
        "critique",
    ]
    assert record.evaluation.score == 0.95, "tests ran before and after"
    assert result.data["code_updated_requires_restart"] is False
    assert "-import os" in result.data["diffs"][0]


def test_cycles_end_when_nothing_is_left_to_improve(settings: Make, project: Path) -> None:
    world = ImprovementWorld(settings())
    result = world.improve(project / "stock.py", cycles=5)
    assert result.ok, "one cycle succeeded"
    statuses = [record.status.value for record in records(world)]
    assert statuses == ["SUCCESS_PROMOTED", "FAILURE"]
    assert records(world)[1].reason == "nothing to improve was found"
    assert not world.improve(project / "stock.py").ok, "a run without a success is a failure"
    assert len(world.lines) == 3


def lost_in_after(files: Files, command: str) -> TestReport:
    return a_run({"t.py::test_a": "" if "import os" in files["stock.py"] else "Error: gone"})


def skipped_in_after(files: Files, command: str) -> TestReport:
    return a_run({"t.py::test_a": "" if "import os" in files["stock.py"] else "skip"})


def missing_in_after(files: Files, command: str) -> TestReport:
    kept = {"t.py::test_a": "", "t.py::test_b": ""}
    return a_run(kept if "import os" in files["stock.py"] else {"t.py::test_b": ""})


@pytest.mark.parametrize("judge", [lost_in_after, skipped_in_after, missing_in_after])
def test_a_test_that_no_longer_passes_rejects_the_improvement(
    settings: Make, project: Path, judge: Callable[[Files, str], TestReport]
) -> None:
    world = ImprovementWorld(settings(), judge=judge)
    result = world.improve(project / "stock.py")
    assert not result.ok
    assert result.message.startswith("tests: ")
    assert (project / "stock.py").read_bytes() == FLAWED.encode(), "restored byte for byte"
    assert len(world.lines) == 1


def test_a_test_with_another_name_in_each_run_is_not_missing(settings: Make, project: Path) -> None:
    runs = itertools.count()

    def judge(files: Files, command: str) -> TestReport:
        return a_run({"t.py::test_a": "", f"t.py::test_b[{next(runs)} o'clock]": ""})

    world = ImprovementWorld(settings(), judge=judge)
    assert world.improve(project / "stock.py").ok
    (record,) = records(world)
    detail = "1 test passed before and pass now; 1 with another name in each run"
    assert [one.detail for one in record.evaluation.checks if one.name == "tests"] == [detail]


def test_a_test_that_is_lost_beside_one_with_another_name_rejects_the_improvement(
    settings: Make, project: Path
) -> None:
    runs = itertools.count()

    def judge(files: Files, command: str) -> TestReport:
        kept = {"t.py::test_a": ""} if "import os" in files["stock.py"] else {}
        return a_run({**kept, f"t.py::test_b[{next(runs)} o'clock]": ""})

    world = ImprovementWorld(settings(), judge=judge)
    assert not world.improve(project / "stock.py").ok
    assert (project / "stock.py").read_text() == FLAWED


def test_a_third_run_that_is_cut_off_shows_no_name_of_its_own(
    settings: Make, project: Path
) -> None:
    before, after = a_run({"t.py::test_a": ""}), a_run({"t.py::test_b": ""})
    cut = a_run({}).with_(success=False, verdict=RunVerdict.TIMEOUT)
    runs = iter([before, after, cut])
    world = ImprovementWorld(settings(), judge=lambda files, command: next(runs))
    result = world.improve(project / "stock.py")
    assert not result.ok
    assert "not passing now: t.py::test_a" in result.message


@pytest.mark.parametrize("when", ["before", "after"])
def test_tests_that_did_not_end_prove_nothing(settings: Make, project: Path, when: str) -> None:
    def judge(files: Files, command: str) -> TestReport:
        is_before = "import os" in files["stock.py"]
        report = a_run({"t.py::test_a": ""})
        cut = report.with_(success=False, verdict=RunVerdict.TIMEOUT)
        return cut if is_before is (when == "before") else report

    world = ImprovementWorld(settings(), judge=judge)
    result = world.improve(project / "stock.py")
    assert result.message.startswith(f"tests: they did not end in time {when} the change")
    assert (project / "stock.py").read_text() == FLAWED


def test_a_cycle_takes_the_tests_of_the_one_before(settings: Make, project: Path) -> None:
    (project / "other.py").write_text("class A(object):\n    x = 1\n")
    world = ImprovementWorld(settings(), judge=lambda f, c: a_run({"t.py::test_a": ""}))
    world.improve(project, cycles=2)
    runs = [one.commands.count("python -m pytest") for one in world.workspaces]
    assert runs == [1, 1, 1], "before, after, and after the second change"


def test_a_rejected_improvement_is_not_tried_again_in_the_run(
    settings: Make, project: Path
) -> None:
    world = ImprovementWorld(settings(), judge=lost_in_after)
    world.improve(project / "stock.py", cycles=3)
    assert [record.reason.partition(":")[0] for record in records(world)] == [
        "tests",
        "nothing to improve was found",
    ]


def broken_after(files: Files, command: str) -> CommandResult:
    return quiet(files, command) if "import os" in files["stock.py"] else failed(files, command)


def test_a_version_that_does_not_compile_runs_no_test(settings: Make, project: Path) -> None:
    world = ImprovementWorld(settings(), shell=broken_after)
    result = world.improve(project / "stock.py")
    assert result.message == "compiles: exit status 1: Boom: it broke"
    assert "python -m pytest" not in world.workspaces[1].commands


def test_a_self_test_of_the_file_must_pass(settings: Make, tmp_path: Path) -> None:
    file = tmp_path / "tool.py"
    file.write_text(FLAWED + "# has --self-test-mode\n")

    def shell(files: Files, command: str) -> CommandResult:
        is_self_test = command.endswith("tool.py --self-test-mode")
        return failed(files, command) if is_self_test else quiet(files, command)

    world = ImprovementWorld(settings(), shell=shell)
    assert world.improve(file).message == "self-test: exit status 1: Boom: it broke"


def test_a_file_that_never_could_be_imported_is_not_blamed(settings: Make, tmp_path: Path) -> None:
    file = tmp_path / "tool.py"
    file.write_text(FLAWED)

    def shell(files: Files, command: str) -> CommandResult:
        return failed(files, command) if "import_module" in command else quiet(files, command)

    world = ImprovementWorld(settings(), shell=shell)
    assert world.improve(file).ok
    (record,) = records(world)
    assert "could not be imported before either" in record.evaluation.checks[2].detail


def test_a_score_below_the_threshold_rejects(settings: Make, tmp_path: Path) -> None:
    file = tmp_path / "tool.py"
    file.write_text(FLAWED)
    result = ImprovementWorld(settings()).improve(file, critique_threshold=0.9)
    assert result.message.startswith("critique: 0.8 is below 0.9")
    assert file.read_text() == FLAWED


def test_evaluate_only_promotes_nothing(settings: Make, project: Path) -> None:
    world = ImprovementWorld(settings())
    result = world.improve(project / "stock.py", evaluate_only=True)
    assert (result.ok, records(world)[0].status) == (True, "SUCCESS_EVALUATED")
    assert (project / "stock.py").read_text() == FLAWED
    assert list((world.folder / "fallback_versions").iterdir()) == []


def test_an_environment_that_cannot_be_built_is_a_failure_with_its_line(
    settings: Make, project: Path
) -> None:
    world = ImprovementWorld(settings(), broken=SetupFailed("pip failed", "check the index"))
    result = world.improve(project / "stock.py")
    assert (result.ok, result.message) == (False, "pip failed check the index")
    assert len(world.lines) == 1


def test_a_file_that_a_person_edits_meanwhile_is_left_alone(settings: Make, project: Path) -> None:
    file = project / "stock.py"

    def shell(files: Files, command: str) -> CommandResult:
        file.write_text("# mine\n")
        return quiet(files, command)

    world = ImprovementWorld(settings(), shell=shell)
    result = world.improve(file)
    assert not result.ok
    assert file.read_text() == "# mine\n"
    assert len(world.lines) == 1


def test_a_folder_is_improved_file_by_file_without_its_tests(settings: Make, project: Path) -> None:
    (project / "other.py").write_text("class A(object):\n    x = 1\n")
    world = ImprovementWorld(settings())
    result = world.improve(project, cycles=5)
    assert [one["improvement"]["path"] for one in result.data["cycles"][:2]] == [
        "other.py",
        "stock.py",
    ]
    assert (project / "test_stock.py").read_text() == TESTS


def test_context_is_handed_from_cycle_to_cycle(settings: Make, project: Path) -> None:
    world = ImprovementWorld(settings())
    world.improve(project, cycles=2, context="prefer small steps", notes=("--logs was cut",))
    first, second = sorted((world.folder / "archive").iterdir())
    assert json.loads((first / "context.json").read_text())["cycles"] == []
    context = json.loads((second / "context.json").read_text())
    assert context["context"] == "prefer small steps"
    assert context["cycles"][0]["status"] == "SUCCESS_PROMOTED"
    assert "--logs was cut" in records(world)[0].notes


def test_the_working_copy_marks_itself_as_one(settings: Make, project: Path) -> None:
    world = ImprovementWorld(settings())
    world.improve(project / "stock.py")
    assert ".metaagent-iteration" in world.workspaces[0].texts()


def test_only_one_run_is_active_at_a_time(settings: Make, project: Path) -> None:
    inner: list[str] = []

    def shell(files: Files, command: str) -> CommandResult:
        with pytest.raises(UsageError) as refused:
            ImprovementWorld(settings()).improve(project / "stock.py")
        inner.append(refused.value.message)
        return quiet(files, command)

    ImprovementWorld(settings(), shell=shell).improve(project / "stock.py")
    assert set(inner) == {"another improvement is active"}


def test_rollback_restores_versions_one_after_the_other(settings: Make, project: Path) -> None:
    file = project / "stock.py"
    flawed = FLAWED.replace("items.count(name) > 0", "not name in items")
    file.write_text(flawed)
    world = ImprovementWorld(settings())
    world.improve(file, cycles=2)
    assert run_rollback(None, world.settings).ok
    assert "import os" not in file.read_text()
    assert run_rollback(str(file), world.settings).data["file"] == str(file)
    assert file.read_text() == flawed
    with pytest.raises(UsageError):
        run_rollback(None, world.settings)


def test_rollback_leaves_a_file_alone_that_was_edited_since(settings: Make, project: Path) -> None:
    world = ImprovementWorld(settings())
    world.improve(project / "stock.py")
    (project / "stock.py").write_text("mine = 1\n")
    with pytest.raises(UsageError):
        run_rollback(None, world.settings)
    assert (project / "stock.py").read_text() == "mine = 1\n"
