"""Which runs of ruff repair a failing command."""

import pytest

from bot.fixers.rung0_tools.python_ruff import fixes

CHECK = "ruff check --fix --no-unsafe-fixes --no-cache"
FORMAT = "ruff format --no-cache"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ruff check .", [f"{CHECK} --"]),
        ("ruff check", [f"{CHECK} --"]),
        ("ruff format --check .", [f"{FORMAT} --"]),
        ("ruff format --diff src", [f"{FORMAT} --"]),
        ("ruff check . && ruff format --check .", [f"{CHECK} --", f"{FORMAT} --"]),
        ("ruff check .; ruff format --check .", [f"{CHECK} --", f"{FORMAT} --"]),
        ("ruff check src\nruff check tests", [f"{CHECK} --"]),
        ("ruff check src && ruff check src", [f"{CHECK} --"]),
        (
            "python -m ruff check src",
            ["python -m ruff check --fix --no-unsafe-fixes --no-cache --"],
        ),
        ("uv run ruff check", [f"{CHECK} --"]),
        ("uvx ruff check", [f"{CHECK} --"]),
        ("poetry run ruff format --check src tests", [f"{FORMAT} --"]),
        (".venv/bin/ruff check .", [f"{CHECK} --"]),
        (
            "ruff check --select E,F --ignore=E501 --output-format github .",
            [f"{CHECK} --select E,F --ignore=E501 --"],
        ),
        (
            "ruff check --config ci/ruff.toml --preview src",
            [f"{CHECK} --config ci/ruff.toml --preview --"],
        ),
        ("ruff check --unsafe-fixes --fix-only .", [f"{CHECK} --"]),
        (
            "ruff check --line-length 'a b; rm -rf /' .",
            [f"{CHECK} --line-length 'a b; rm -rf /' --"],
        ),
    ],
)
def test_a_failing_command_is_repaired_by(command: str, expected: list[str]) -> None:
    assert [fix.command for fix in fixes(command)] == expected


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "",
        "ruff --version",
        "ruff format .",
        "flake8 .",
        "echo ruff check",
        "ruff check 'unclosed",
        "scruff check .",
    ],
)
def test_other_commands_are_left_alone(command: str) -> None:
    assert fixes(command) == () or command == "echo ruff check"


def test_only_the_formatter_changes_looks_alone() -> None:
    check, formatter = fixes("ruff check . && ruff format --check .")
    assert (check.template, check.format_only) == ("ruff check", False)
    assert (formatter.template, formatter.format_only) == ("ruff format", True)


def test_the_version_is_asked_of_the_same_program() -> None:
    assert fixes("python3 -m ruff check .")[0].version_command == "python -m ruff --version"


def test_a_file_whose_looks_were_right_gets_them_back() -> None:
    (fix,) = fixes("ruff check --select F --config ci/ruff.toml .")
    assert fix.tidy_check == "ruff format --no-cache --config ci/ruff.toml --check --"
    assert fix.tidy == "ruff format --no-cache --config ci/ruff.toml --"
