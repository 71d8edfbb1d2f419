"""metaagent policy check: problems with lines, warnings, and wrong use."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli import main
from bot.errors import UsageError
from bot.policy.document import MAX_BYTES
from bot.policy.policy_file import POLICY_PATH
from bot.terminal.policy import check_policy

WRONG = "automatic: true\ncolour: red\nlimits:\n  attempts: many\n"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A project in which a person stands."""
    before = Path.cwd()
    (tmp_path / ".github").mkdir()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def test_a_valid_policy_of_this_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / POLICY_PATH).write_text("automatic: false\n")
    assert main(["policy", "check"]) == 0
    assert capsys.readouterr().out == f"{POLICY_PATH}: the policy is valid\n"


def test_problems_have_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.yml").write_text(WRONG)
    assert main(["policy", "check", "mine.yml"]) == 2
    first, second, verdict = capsys.readouterr().out.splitlines()
    assert first == "mine.yml:2: error: unknown key `colour`"
    assert second.startswith("mine.yml:4: error: `limits.attempts`: ")
    assert verdict == "mine.yml: 2 errors"


def test_programs_get_one_object(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.yml").write_text(WRONG)
    assert main(["policy", "check", "mine.yml", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["file"], found["valid"]) == ("mine.yml", False)
    assert found["problems"][0] == {
        "line": 2,
        "level": "error",
        "message": "unknown key `colour`",
    }


def test_a_deprecated_key_is_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / POLICY_PATH).write_text("time_limit_s: 60\n")
    assert main(["policy", "check"]) == 0
    warning, verdict = capsys.readouterr().out.splitlines()
    assert warning.startswith(f"{POLICY_PATH}:1: warning: `time_limit_s` is deprecated")
    assert verdict.endswith("the policy is valid")


def test_one_error_is_counted_as_one(folder: Path) -> None:
    (folder / POLICY_PATH).write_text("x: 1\n")
    assert check_policy(None).text.endswith(f"{POLICY_PATH}: 1 error")


@pytest.mark.parametrize("content", ["a: [", "a: &x 1\nb: *x\n", "#" * (MAX_BYTES + 1)])
def test_a_file_that_cannot_be_parsed_is_an_error(folder: Path, content: str) -> None:
    (folder / POLICY_PATH).write_text(content)
    (problem,) = check_policy(None).problems
    assert problem.is_error
    assert problem.line is not None


def test_more_problems_than_a_policy_keeps_are_shown(folder: Path) -> None:
    (folder / POLICY_PATH).write_text("".join(f"x{number}: 1\n" for number in range(80)))
    assert len(check_policy(None).problems) == 80


def test_the_table_of_a_pyproject_is_checked(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[project]\n[tool.metaagent]\ncolour = 1\n")
    result = check_policy(None)
    assert result.file == "pyproject.toml"
    assert [problem.line for problem in result.problems] == [3]


def test_hostile_text_is_shown_harmlessly(folder: Path) -> None:
    (folder / POLICY_PATH).write_text('"\\e[31m`x": 1\nmode: "\\e]0;x\\a"\n')
    text = check_policy(None).text
    assert all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("file", [None, "missing.yml", ".github", "pyproject.toml", "a\0b"])
def test_wrong_use_is_an_error(folder: Path, file: str | None) -> None:
    (folder / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(UsageError):
        check_policy(file)


def test_wrong_use_is_reported_as_one_object(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["policy", "check", "missing.yml", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["fault"] == "user"
