"""MetaAgent as its own target: a copy, its self-test, the changed file's unit tests, a restart."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.improve.own_plan import plan_for_self, with_fast_checks
from bot.settings import Settings
from bot.terminal.improve import ImproveOrder, run_improve, run_rollback
from sandbox.types import CommandResult
from tests.fakes.fake_workspace import Files, quiet
from tests.unit.bot.improve.world import ImprovementWorld, failed

Make = Callable[..., Settings]
TREE = (
    "tests/unit/bot/test_cli.py",
    "tests/unit/bot/llm/test_mind.py",
    "tests/unit/bot/llm/x/y.py",
)


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("bot/cli.py", "tests/unit/bot/test_cli.py"),
        ("bot/llm/mind.py", "tests/unit/bot/llm/test_mind.py"),
        ("bot/llm/spans.py", "tests/unit/bot/llm"),
        ("bot/llm/x/deep.py", "tests/unit/bot/llm/x"),
        ("bot/queue/engine.py", "tests/unit/bot"),
        ("sandbox/diffs.py", "tests/unit"),
    ],
)
def test_the_fast_checks_are_the_nearest_unit_tests(path: str, tests: str) -> None:
    plan = plan_for_self(Path("/src"), is_checkout=True, timeout_s=1.0)
    found = with_fast_checks(plan, path, TREE)
    assert found.hints.command == f"python -m pytest -q {tests}"


def test_an_installation_brings_the_versions_it_runs_with() -> None:
    plan = plan_for_self(Path("/site"), is_checkout=False, timeout_s=1.0)
    (setup,) = plan.hints.setup
    assert setup.startswith("uv pip install ")
    assert "githubkit==0.16.1" in setup.split()
    assert with_fast_checks(plan, "bot/cli.py", TREE) == plan


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name in ("bot", "sandbox"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "some.py").write_text("import os\nx = 1\n")
    return tmp_path / "bot"


def test_self_is_promoted_with_a_restart_and_rolled_back(settings: Make, package: Path) -> None:
    world = ImprovementWorld(settings())
    result = run_improve(
        ImproveOrder(target="self"), world.settings, build=world.build, running=package
    )
    assert result.ok
    assert result.data["code_updated_requires_restart"] is True
    assert (package / "some.py").read_text() == "x = 1\n"
    assert any("-m bot improve --self-test-mode" in command for command in world.commands)
    rolled = run_rollback(None, world.settings)
    assert rolled.data["code_updated_requires_restart"] is True
    assert (package / "some.py").read_text() == "import os\nx = 1\n"


def test_a_version_whose_self_test_fails_is_not_promoted(settings: Make, package: Path) -> None:
    def shell(files: Files, command: str) -> CommandResult:
        return failed(files, command) if "self-test-mode" in command else quiet(files, command)

    world = ImprovementWorld(settings(), shell=shell)
    result = run_improve(
        ImproveOrder(target="self"), world.settings, build=world.build, running=package
    )
    assert result.message == "self-test: exit status 1: Boom: it broke"
    assert result.data["code_updated_requires_restart"] is False
    assert (package / "some.py").read_text() == "import os\nx = 1\n"
