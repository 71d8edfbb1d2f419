"""Wrong use of a command on a folder: what is refused before any sandbox, and what the first run shows."""

import subprocess
from pathlib import Path

import pytest

from bot.errors import UsageError
from bot.terminal.misuse import detect_misuse_in_run
from bot.terminal.prepare import check_folder
from sandbox.spec import SandboxSpec
from sandbox.types import RunVerdict, TestReport

SPEC = SandboxSpec()


def a_red_run(**fields: object) -> TestReport:
    known = {
        "success": False,
        "failed": False,
        "exit_code": 1,
        "target": "run me",
        "summary": "odd",
        "failure_count": 0,
    }
    return TestReport.model_validate({**known, **fields})


def refusal(
    folder: Path,
    spec: SandboxSpec = SPEC,
    *,
    command: str | None = "make",
    since: str | None = None,
) -> str:
    with pytest.raises(UsageError) as caught:
        check_folder(str(folder), spec, command=command, since=since)
    return f"{caught.value.message}; {caught.value.advice}"


def test_a_folder_that_is_absent_or_empty_is_refused(tmp_path: Path) -> None:
    assert "is not a folder" in refusal(tmp_path / "absent")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert "is empty" in refusal(tmp_path), "what is left out does not count"


@pytest.mark.parametrize("limit", ["max_files", "max_blob_bytes", "max_tree_bytes"])
def test_a_folder_over_a_limit_is_refused_with_the_option_that_raises_it(
    tmp_path: Path, limit: str
) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("x = 1\n" * 10)
    least = {"max_files": 1, "max_blob_bytes": 50, "max_tree_bytes": 100}[limit]
    told = refusal(tmp_path, SPEC.with_(**{limit: least}))
    assert f"--sandbox-{limit.replace('_', '-')}" in told
    check_folder(str(tmp_path), SPEC, command="make", since=None)


def test_a_revision_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    assert "not in a git checkout" in refusal(tmp_path, since="v1")
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    assert "There is no commit 'v1'" in refusal(tmp_path, since="v1")


def test_a_folder_without_anything_to_run_is_refused_unless_a_command_is_given(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    assert "nothing to run" in refusal(tmp_path, command=None)
    check_folder(str(tmp_path), SPEC, command="make", since=None)
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "metaagent.yml").write_text("test_command: make check\n")
    check_folder(str(tmp_path), SPEC, command=None, since=None)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"success": True, "exit_code": 0, "verdict": RunVerdict.PASS},
            "nothing is red: `run me` passes here",
        ),
        ({"exit_code": 127}, "the program `run` cannot be found"),
        (
            {"exit_code": 126, "ended_at": "A=1 other --all", "steps": 2},
            "the program `other` cannot be found",
        ),
        ({"exit_code": 127, "ended_at": "it's"}, "the program `run me` cannot be found"),
        (
            {"exit_code": 127, "raw_output": "bash: line 1: other: command not found\n"},
            "the program `other` cannot be",
        ),
        ({"exit_code": 127, "target": "\x1b[2Jrun"}, "the program `run` cannot be found"),
        ({"exit_code": 5, "runner": "pytest"}, "`run me` collects no test"),
        ({"exit_code": 0, "runner": "unittest"}, "`run me` collects no test"),
        ({"exit_code": 4, "runner": "pytest"}, "`run me` cannot be run: odd"),
    ],
)
def test_a_first_run_that_shows_nothing_to_repair_is_wrong_use(
    fields: dict[str, object], message: str
) -> None:
    misuse = detect_misuse_in_run(a_red_run(**fields))
    assert misuse is not None
    assert message in misuse.message
    assert misuse.advice


@pytest.mark.parametrize(
    "fields",
    [
        {"outcomes": {"t.py::test": "fail"}, "runner": "pytest"},
        {"exit_code": 127, "outcomes": {"t.py::test": "fail"}},
        {"exit_code": 3, "runner": "pytest"},
        {"exit_code": 5, "runner": "command"},
    ],
)
def test_a_first_run_with_a_failure_or_an_unknown_end_is_for_the_mission(
    fields: dict[str, object],
) -> None:
    assert detect_misuse_in_run(a_red_run(**fields)) is None
