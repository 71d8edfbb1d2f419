"""What a command line does."""

import pytest

from sandbox.recipe.command import (
    bare_command,
    classify_command,
    is_pytest,
    is_wrapper,
    plain_pytest,
    tools_for,
)
from sandbox.types import StepKind

KINDS = {
    "actionlint -color": StepKind.LINT,
    "terraform fmt -check -recursive": StepKind.FORMAT,
    "terraform validate": StepKind.OTHER,
    "golangci-lint run ./...": StepKind.LINT,
    "astro check": StepKind.TYPES,
    "astro build": StepKind.OTHER,
    "hook_files '--files=^(pytest|x)$' --types=python -- black --check": StepKind.FORMAT,
    "pytest -q": StepKind.TEST,
    "python -m pytest": StepKind.TEST,
    "uv run --frozen pytest tests": StepKind.TEST,
    "poetry run coverage run -m pytest": StepKind.TEST,
    "python -m unittest discover": StepKind.TEST,
    "python -X dev -W error -m pytest": StepKind.TEST,
    "python3.12 -bb -Werror -m unittest": StepKind.TEST,
    "python -Im pytest": StepKind.TEST,
    "python -X dev -m coverage run --branch -p -m pytest": StepKind.TEST,
    "coverage run --source src --branch -m pytest": StepKind.TEST,
    "coverage run --source=src -m unittest": StepKind.TEST,
    "coverage run": StepKind.OTHER,
    "coverage report -m": StepKind.OTHER,
    "poetry --ansi run pytest": StepKind.TEST,
    "uv --no-config run --frozen mypy src": StepKind.TYPES,
    "poe lint": StepKind.LINT,
    "python -bb -m tornado.test -v": StepKind.TEST,
    "python -m pkg.tests.test_all": StepKind.TEST,
    "python tests/test_all.py -v": StepKind.TEST,
    "python tests/fixtures.py": StepKind.OTHER,
    "test -f x": StepKind.OTHER,
    "tox -e flake8 -- -v": StepKind.LINT,
    "nox -s mypy": StepKind.TYPES,
    "FOO=1 pytest": StepKind.TEST,
    "ruff check .": StepKind.LINT,
    "ruff .": StepKind.LINT,
    "ruff format --check .": StepKind.FORMAT,
    "black --check .": StepKind.FORMAT,
    "flake8": StepKind.LINT,
    "pylint src": StepKind.LINT,
    "mypy .": StepKind.TYPES,
    "pyright": StepKind.TYPES,
    "make lint": StepKind.LINT,
    "tox -e tests": StepKind.TEST,
    "echo hello": StepKind.OTHER,
    "'unclosed": StepKind.OTHER,
    "": StepKind.OTHER,
}


@pytest.mark.parametrize("command", KINDS)
def test_a_command_tells_its_kind(command: str) -> None:
    assert classify_command(command) is KINDS[command]


def test_a_step_without_a_known_command_tells_its_kind_by_name() -> None:
    assert classify_command("./ci.sh", "Run tests") is StepKind.TEST
    assert classify_command("./ci.sh", "Build & test") is StepKind.TEST
    assert classify_command("gcc a.c -o a.so", "Build extension for test") is StepKind.OTHER


PLAIN = {
    "pytest -q": "python -m pytest -q",
    "uv run pytest -k 'a b'": "python -m pytest -k 'a b'",
    "coverage run -m pytest -x": "python -m pytest -x",
    "pytest   -k 'a  b'   -x": "python -m pytest -k 'a  b' -x",
    "A='x y' B=\"c d\" C= uv run pytest": "python -m pytest",
    "pytest | tee log": "pytest | tee log",
    "ruff check": "ruff check",
}


@pytest.mark.parametrize("command", PLAIN)
def test_a_pytest_command_is_put_plainly(command: str) -> None:
    assert plain_pytest(command) == PLAIN[command]


def test_tools_that_a_command_needs() -> None:
    assert tools_for("pytest --cov=x -n auto") == ("pytest", "pytest-cov", "pytest-xdist")
    assert tools_for("pytest", "--timeout=5") == ("pytest", "pytest-timeout")
    assert tools_for("mypy .") == ("mypy",)
    assert tools_for("python -m unittest") == ()
    assert tools_for("") == ()


def test_wrappers_and_pytest_are_told_apart() -> None:
    assert is_wrapper("uv run tox -e py")
    assert not is_wrapper("pytest")
    assert is_pytest("py.test")
    assert not is_pytest("tox")
    assert bare_command("") == ""
