"""ToolFixer: what it asks of the sandbox, what it proposes, what it refuses."""

import shlex

import pytest

from bot.domain.diagnosis import Diagnosis, FailureKind
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.fixers.rung0_tools import tool_fixers
from sandbox.types import ChangeAction, FileChange, StepKind, TestResult
from tests.builders import (
    a_diagnosis,
    a_lint_failure,
    a_lint_recipe,
    a_lint_report,
    a_recipe,
    a_running_mission,
)
from tests.fakes.fake_workspace import FakeWorkspace, green
from tests.fakes.tool_workspace import ToolWorkspace

pytestmark = pytest.mark.anyio
CHECK = "ruff check --fix --no-unsafe-fixes"


async def proposed(
    workspace: FakeWorkspace, *failures: TestResult, kind: FailureKind = FailureKind.LINT
) -> list[Candidate | RungNote]:
    fixer, _ = tool_fixers()
    found = failures or (a_lint_failure(),)
    recipe = (await workspace.facts()).recipe
    report = a_lint_report(*found, target=recipe.command)
    if "&&" in recipe.command and not recipe.command.startswith("cd "):
        report = report.with_(ended_at=recipe.command.partition(" && ")[0])
    if kind is not FailureKind.LINT:
        report = report.with_(runner="pytest")
    context: MissionContext = a_running_mission(test_results=report)
    diagnosis: Diagnosis = a_diagnosis(kind=kind, failures=found)
    return [one async for one in fixer.propose(context, diagnosis, workspace, FixBudget())]


async def only_note(workspace: FakeWorkspace, *failures: TestResult) -> str:
    (note,) = await proposed(workspace, *failures)
    assert isinstance(note, RungNote)
    assert await workspace.changes() == (), "left as it was found"
    return note.reason


async def test_what_the_tool_changed_becomes_one_candidate_and_the_workspace_is_clean_again() -> (
    None
):
    workspace = ToolWorkspace(a_lint_recipe(), {"calculator.py": b"x = 1\n"})
    (candidate,) = await proposed(workspace)
    assert isinstance(candidate, Candidate)
    assert (candidate.rung, candidate.fixer, candidate.template) == (
        Rung.TOOLS,
        "ruff",
        "ruff check",
    )
    assert [(c.path, c.content, c.search_for) for c in candidate.changes] == [
        ("calculator.py", "x = 1\n", None)
    ]
    assert candidate.title == "apply ruff check to calculator.py"
    assert "ruff 0.9.9" in candidate.explanation
    assert await workspace.changes() == ()
    assert workspace.commands[0].startswith("for name in black isort; do command -v")
    assert workspace.commands[1:] == [
        "ruff format --no-cache --check -- calculator.py",
        "ruff check --fix --no-unsafe-fixes --no-cache -- calculator.py",
        "ruff format --no-cache -- calculator.py",
        "ruff check --fix --no-unsafe-fixes --no-cache -- calculator.py",
        "ruff --version",
    ]


async def test_status_one_only_says_that_something_is_left() -> None:
    (candidate,) = await proposed(
        ToolWorkspace(a_lint_recipe(), {"calculator.py": b"x = 1\n"}, status=1)
    )
    assert isinstance(candidate, Candidate)


async def test_every_named_file_is_repaired_even_beyond_those_in_full() -> None:
    failures = [a_lint_failure(path=f"m{n}.py") for n in range(12)]
    workspace = ToolWorkspace(a_lint_recipe(), {"m11.py": b"x = 1\n"})
    report = a_lint_report(*failures)
    context = a_running_mission(test_results=report.with_(failures=tuple(failures[:10])))
    fixer, _ = tool_fixers()
    diagnosis = a_diagnosis(kind=FailureKind.LINT, failures=tuple(failures[:10]))
    found = [one async for one in fixer.propose(context, diagnosis, workspace, FixBudget())]
    assert isinstance(found[0], Candidate)
    assert "m11.py" in workspace.commands[1]


LAID_OUT = {
    "ruff format --check .": ("tests/test_x.py", b"import os\n\nx = 1\n"),
    "isort --check .": ("tests/test_x.py", b"import os\n\nx = 1\n"),
    "ruff check .": ("tests/test_x.py", b"x  =  1\n"),
    "npx prettier --check .": ("web/a.test.ts", b'f("a", b);\n'),
    "npx eslint .": ("web/a.test.ts", b'f("a", b);\n'),
    "gofmt -l .": ("a_test.go", b"package a\n\nvar b = 1\n"),
    "cargo fmt --check": ("tests/a.rs", b"fn a() {}\n"),
}
"""A test file, and what a tool makes of it."""


@pytest.mark.parametrize("command", LAID_OUT)
async def test_a_test_file_is_edited_if_it_stays_the_same_program(command: str) -> None:
    path, text = LAID_OUT[command]
    (candidate,) = await proposed(
        ToolWorkspace(a_lint_recipe(command), {path: text}), a_lint_failure(path=path)
    )
    assert isinstance(candidate, Candidate)
    assert [change.path for change in candidate.changes] == [path]


@pytest.mark.parametrize("command", LAID_OUT)
async def test_another_edit_of_a_test_file_is_dropped(command: str) -> None:
    path, text = LAID_OUT[command]
    weaker = text.replace(b"1", b"2").replace(b"b)", b"c)").replace(b"a()", b"c()")
    failures = [a_lint_failure(path=path), a_lint_failure()]
    note = await only_note(ToolWorkspace(a_lint_recipe(command), {path: weaker}), *failures)
    assert note == f"the tool's edit of {path} may change what the test does"
    both = {path: weaker, "calculator.py": b"x = 1\n"}
    if command.startswith("ruff"):
        (candidate,) = await proposed(ToolWorkspace(a_lint_recipe(command), both), *failures)
        assert isinstance(candidate, Candidate)
        assert [change.path for change in candidate.changes] == ["calculator.py"]


async def test_a_test_that_a_tool_creates_is_dropped() -> None:
    workspace = ToolWorkspace(a_lint_recipe(), {"tests/test_new.py": b"x = 1\n"})
    assert "tests/test_new.py" in await only_note(
        workspace, a_lint_failure(path="tests/test_new.py")
    )


@pytest.mark.parametrize(
    "path", ["conftest.py", "setup.py", ".github/x.py", "../outside.py", "/etc/x.py", "notes.md"]
)
async def test_a_protected_or_foreign_file_is_never_given_to_the_tool(path: str) -> None:
    for command in ("ruff check .", "ruff format --check ."):
        workspace = ToolWorkspace(a_lint_recipe(command), {})
        assert "no file" in await only_note(workspace, a_lint_failure(path=path))
        assert workspace.commands == []


async def test_a_hostile_name_of_a_file_stays_a_name() -> None:
    workspace = ToolWorkspace(a_lint_recipe(), {"calculator.py": b"x = 1\n"})
    await proposed(workspace, a_lint_failure(path="a b.py"), a_lint_failure(path="--config=x.py"))
    assert workspace.commands[1].endswith(" -- 'a b.py'")


@pytest.mark.parametrize(
    "name", ["$id.py", "it's R&D.py", "a & touch x.py", "100%!.py", "@user.py"]
)
async def test_a_name_with_signs_of_a_shell_is_one_word(name: str) -> None:
    workspace = ToolWorkspace(a_lint_recipe(), {f"$a & b/{name}": b"x = 1\n"})
    (candidate,) = await proposed(workspace, a_lint_failure(path=f"$a & b/{name}"))
    assert isinstance(candidate, Candidate)
    assert shlex.split(workspace.commands[1])[-2:] == ["--", f"$a & b/{name}"]


async def test_a_tool_that_touches_another_file_is_refused() -> None:
    workspace = ToolWorkspace(a_lint_recipe(), {"other.py": b"x = 1\n"})
    assert "touched other.py" in await only_note(workspace)


async def test_a_tool_that_changes_nothing_says_so() -> None:
    assert "changed nothing" in await only_note(ToolWorkspace(a_lint_recipe(), {}))


@pytest.mark.parametrize("status", [2, 127, None])
async def test_a_tool_that_cannot_run_says_why(status: int | None) -> None:
    workspace = ToolWorkspace(a_lint_recipe(), {"calculator.py": b"half"}, status=status)
    assert await only_note(workspace) == "ruff check could not run: no such option"


async def test_a_file_that_is_not_text_is_refused() -> None:
    assert "not UTF-8" in await only_note(
        ToolWorkspace(a_lint_recipe(), {"calculator.py": b"\xff"})
    )


async def test_a_test_step_is_not_its_business() -> None:
    workspace = ToolWorkspace(a_recipe(), {})
    (note,) = await proposed(workspace, kind=FailureKind.BUG)
    assert isinstance(note, RungNote)
    assert "runs no tool" in note.reason
    assert workspace.commands == []


async def test_another_linter_is_not_its_business() -> None:
    assert "runs no tool" in await only_note(ToolWorkspace(a_lint_recipe("flake8 ."), {}))


@pytest.mark.parametrize(
    ("folder", "command"), [("backend", "ruff check ."), (".", "cd backend && ruff check .")]
)
async def test_files_are_given_as_the_folder_of_the_command_sees_them(
    folder: str, command: str
) -> None:
    recipe = a_lint_recipe(command).with_(working_directory=folder)
    workspace = ToolWorkspace(recipe, {"backend/calculator.py": b"x = 1\n"})
    (candidate,) = await proposed(workspace, a_lint_failure(path="backend/calculator.py"))
    assert isinstance(candidate, Candidate)
    assert candidate.changes[0].path == "backend/calculator.py"
    assert workspace.commands[2].endswith(f"{CHECK} --no-cache -- calculator.py")


async def test_a_formatter_that_found_nothing_before_runs_after_the_fix() -> None:
    workspace = ToolWorkspace(
        a_lint_recipe("isort --check . && black -l 99 --check ."), {"calculator.py": b"x = 1\n"}
    )
    await proposed(workspace)
    assert workspace.commands[1:5] == [
        "black --check --quiet -l 99 -- calculator.py",
        "isort -- calculator.py",
        "black -l 99 -- calculator.py",
        "isort -- calculator.py",
    ]


async def test_checks_behind_the_failing_one_run_on_the_fixed_files() -> None:
    command = "isort --check . && black --check ."
    red = a_lint_report(a_lint_failure(path="other.py"), a_lint_failure())
    workspace = ToolWorkspace(
        a_lint_recipe(command),
        {"calculator.py": b"x = 1\n"},
        judge=lambda _, asked: red if asked == "black --check ." else green({}, asked),
    )
    (candidate,) = await proposed(workspace)
    assert isinstance(candidate, Candidate)
    assert candidate.template == "isort and black"
    assert "black -- calculator.py" in workspace.commands
    assert not any("other.py" in command for command in workspace.commands)


async def test_edits_of_an_earlier_iteration_are_not_proposed_again() -> None:
    workspace = ToolWorkspace(a_lint_recipe(), {"calculator.py": b"x = 1\n"})
    change = FileChange(action=ChangeAction.CREATE, path="new.py", content="y = 1\n")
    await workspace.apply_changes([change])
    (candidate,) = await proposed(workspace)
    assert isinstance(candidate, Candidate)
    assert [change.path for change in candidate.changes] == ["calculator.py"]


async def test_only_named_files_of_a_whole_project_are_proposed() -> None:
    workspace = ToolWorkspace(
        a_lint_recipe("cargo clippy -- -D warnings"),
        {"src/a.rs": b"fn a() {}\n", "src/b.rs": b"fn b() {}\n", "Cargo.lock": b"x\n"},
        status=101,
    )
    (candidate,) = await proposed(workspace, a_lint_failure(path="src/a.rs"))
    assert isinstance(candidate, Candidate)
    assert [change.path for change in candidate.changes] == ["src/a.rs"]


@pytest.mark.parametrize(
    "path", ["__snapshots__/a.js", "tests/a.json", "testdata/a.js", "package.json"]
)
async def test_snapshots_data_and_settings_of_the_web_are_never_formatted(path: str) -> None:
    workspace = ToolWorkspace(a_lint_recipe("npx prettier --check ."), {})
    assert "no file" in await only_note(workspace, a_lint_failure(path=path))
    assert workspace.commands == []


async def test_a_step_of_another_kind_counts_when_the_diagnosis_says_lint() -> None:
    recipe = a_lint_recipe(kind=StepKind.OTHER)
    (candidate,) = await proposed(ToolWorkspace(recipe, {"calculator.py": b"x = 1\n"}))
    assert isinstance(candidate, Candidate)
