"""metaagent recipe: what a person and a program get, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.cli import main
from bot.commands.options import EXIT_ERROR, EXIT_FIXED, EXIT_NOT_FIXED
from bot.errors import UsageError
from bot.settings import Settings
from bot.terminal.recipe import RecipeOrder, RecipeResult, run_recipe

WORKFLOW = """
name: CI
on: push
env: {LEVEL: high}
jobs:
  test:
    runs-on: ubuntu-latest
    strategy: {matrix: {python: ["3.10", "3.11"]}}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "${{ matrix.python }}"}
      - run: pip install -r requirements.txt
      - name: Unit tests
        run: pytest -q tests
  database:
    runs-on: ubuntu-latest
    services: {db: {image: "postgres:15"}}
    steps: [{run: pip install pytest}, {run: pytest}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / ".github" / "workflows").mkdir(parents=True)
    (project / "tests").mkdir()
    (project / ".github" / "workflows" / "ci.yml").write_text(WORKFLOW)
    (project / "requirements.txt").write_text("attrs>=23\npytest\n")
    (project / "tests" / "test_x.py").write_text("raise SystemExit('this is never run')\n")
    return project


def run(folder: Path, **more: object) -> RecipeResult:
    return run_recipe(RecipeOrder(path=str(folder), **more), Settings())  # type: ignore[arg-type]


def test_a_cell_is_told_to_people(folder: Path) -> None:
    result = run(folder, workflow="ci.yml", job="test", matrix=("python=3.10",))
    assert result.feasible
    for words in (
        "job       test (3.10)",
        "python    3.10",
        "attrs>=23",
        "python -m pytest -q tests",
        "LEVEL=high",
        "replayed  actions/checkout@v4: the commit is checked out",
        "It can be rebuilt here.",
    ):
        assert words in result.text


def test_a_cell_is_told_to_programs(folder: Path) -> None:
    found = run(folder, job="test (3.11)", step="Unit tests").json_object
    assert found["feasible"] is True
    assert found["workflow"] == ".github/workflows/ci.yml"
    (python,) = found["parts"]
    assert (found["job"], found["step"], python["version"]) == ("test (3.11)", "Unit tests", "3.11")
    assert found["matrix"] == {"python": "3.11"}
    assert {"attrs>=23", "pytest"} <= set(python["requirements"])


def test_what_is_missing_is_the_end_of_the_story(folder: Path) -> None:
    result = run(folder, job="database")
    assert not result.feasible
    assert result.text.rstrip().endswith(
        "It cannot be rebuilt here:\n  needs the service postgres:15, no service is started"
    )


def test_the_policy_of_the_folder_wins(folder: Path) -> None:
    (folder / ".github" / "metaagent.yml").write_text(
        "test_command: python -m pytest -x\nsetup: [make data]\npython: '3.9'\nodd: 1\n"
    )
    result = run(folder)
    found = result.json_object
    assert (found["command"], found["origin"], found["parts"][0]["version"]) == (
        "python -m pytest -x",
        "policy",
        "3.9",
    )
    assert found["setup"] == ["make data"]
    assert "unknown key `odd`" in result.text


@pytest.mark.parametrize(
    ("order", "message", "advice"),
    [
        ({"workflow": "cd.yml"}, "no such workflow: cd.yml", ".github/workflows/ci.yml"),
        ({"job": "deploy"}, "no such job: deploy", "test (3.10), test (3.11), database"),
        ({"job": "test", "step": "Deploy"}, "no such step: Deploy", "Unit tests"),
        (
            {"job": "test", "matrix": ("python=2.7",)},
            "no such cell: python=2.7",
            "test (3.10), test (3.11)",
        ),
        ({"matrix": ("python",)}, "is not NAME=VALUE", "python-version=3.11"),
    ],
)
def test_wrong_use_lists_what_there_is(
    folder: Path, order: dict[str, object], message: str, advice: str
) -> None:
    with pytest.raises(UsageError) as caught:
        run(folder, **order)
    assert message in caught.value.message
    assert advice in caught.value.advice


def test_a_workflow_may_be_any_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "nightly.yml"
    other.write_text("jobs: {night: {steps: [{run: pytest -x}]}}")
    found = run(folder, workflow=str(other), job="night").json_object
    assert (found["command"], found["workflow"]) == (
        "python -m pytest -x",
        ".github/workflows/nightly.yml",
    )
    whole = str(folder / ".github" / "workflows" / "ci.yml")
    assert (
        run(folder, workflow=whole, job="test").json_object["workflow"]
        == ".github/workflows/ci.yml"
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run(Path(), workflow=whole, job="test").json_object["job"] == "test (3.11)"


def test_a_folder_without_anything_to_run_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to run"):
        run(tmp_path)
    with pytest.raises(UsageError, match="is not a folder"):
        run(tmp_path / "nowhere")


def test_a_job_that_runs_nothing_here_is_shown_with_its_steps(tmp_path: Path) -> None:
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    steps = "[{uses: actions/checkout@v4}, {run: docker run x}]"
    workflow = tmp_path / ".github" / "workflows" / "ci.yml"
    workflow.write_text(f"jobs: {{image: {{steps: {steps}}}}}")
    result = run(tmp_path, job="image")
    assert not result.feasible
    assert result.json_object["command"] == ""
    for words in (
        "step      Run docker run x",
        "replayed  actions/checkout@v4",
        "dropped   docker run x: no containers",
        "It cannot be rebuilt here:\n  `docker run` needs a container daemon",
    ):
        assert words in result.text
    assert "Installed" not in result.text


def test_links_out_of_the_folder_are_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.yml").write_text("jobs: {secret: {steps: [{run: pytest}]}}")
    (folder / ".github" / "workflows" / "link.yml").symlink_to(tmp_path / "outside.yml")
    (folder / ".github" / "metaagent.yml").symlink_to(tmp_path / "outside.yml")
    with pytest.raises(UsageError):
        run(folder, job="secret")
    assert run(folder, job="test").json_object["origin"] == "workflow"


def test_what_a_workflow_says_cannot_write_on_the_terminal(folder: Path) -> None:
    (folder / ".github" / "workflows" / "ci.yml").write_text(
        'jobs: {t: {name: "x\\e[2Jy\\u202e", steps: [{name: "a\\e]0;t\\a", run: pytest}]}}'
    )
    text = run(folder).text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_command_line_has_the_status_of_the_answer(
    folder: Path, capsys: pytest.CaptureFixture[str], loggers_as_they_were: Callable[[], None]
) -> None:
    assert (
        main(["recipe", str(folder), "--job", "test", "--matrix", "python=3.11", "--json"])
        == EXIT_FIXED
    )
    assert json.loads(capsys.readouterr().out)["job"] == "test (3.11)"
    assert main(["recipe", str(folder), "--job", "database"]) == EXIT_NOT_FIXED
    assert capsys.readouterr().out.startswith("workflow  ")
    assert main(["recipe", str(folder), "--job", "nope"]) == EXIT_ERROR
    assert "test (3.10)" in capsys.readouterr().err
