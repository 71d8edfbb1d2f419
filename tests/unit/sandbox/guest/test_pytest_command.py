"""What a pytest command line says."""

import os
import sys
from pathlib import Path

import pytest

from sandbox.guest.pytest_command import extend_sys_path, split_pytest_command, split_words

UNDERSTOOD: dict[str, tuple[list[str], dict[str, str], list[str], bool]] = {
    "pytest": ([], {}, [], False),
    "pytest -q t.py::test_x[1-a]": (["-q", "t.py::test_x[1-a]"], {}, [], False),
    "py.test -x": (["-x"], {}, [], False),
    "python -m pytest -k 'a and not b'": (["-k", "a and not b"], {}, [], True),
    "python3.11 -m pytest": ([], {}, [], True),
    "/usr/bin/python3 -W error -B -X dev -m pytest -q": (
        ["-q"],
        {},
        ["-W", "error", "-X", "dev"],
        True,
    ),
    "python -Werror -OO -m pytest": ([], {}, ["-Werror", "-OO"], True),
    "python -I -m pytest": ([], {}, [], False),
    "A=1 B='x y' pytest -q": (["-q"], {"A": "1", "B": "x y"}, [], False),
    "env PYTHONPATH=src python -m pytest": ([], {"PYTHONPATH": "src"}, [], True),
    "uv run pytest -q": (["-q"], {}, [], False),
    "uv run --extra test --frozen -- pytest": ([], {}, [], False),
    "uv run -m pytest -q": (["-q"], {}, [], True),
    "poetry run python -m pytest": ([], {}, [], True),
    "coverage run -m pytest tests": (["tests"], {}, [], True),
    "coverage run --debug sys --source-dirs src -m pytest -q": (["-q"], {}, [], True),
    "coverage run --source pkg --branch -m pytest": ([], {}, [], True),
    "python -m coverage run -p -m pytest -q": (["-q"], {}, [], True),
}
NOT_PYTEST = [
    "", "   ", "make test", "pytest && ruff check", "pytest | tee log", "pytest > out", "pytest; true", "pytest $ARGS",
    "pytest 'open", "pytest `x`", 'pytest "$X"', "python test.py", "python -c 'import pytest'", "python -m unittest",
    "uv run --directory sub pytest", "uv run ruff check", "bash -c pytest", "pytest tests/*.py", "A=1", "coverage report",
    "tox -e py", "python -Z -m pytest",
]  # fmt: skip


@pytest.mark.parametrize(("command", "meaning"), UNDERSTOOD.items())
def test_a_pytest_command_is_taken_apart(
    command: str, meaning: tuple[list[str], dict[str, str], list[str], bool]
) -> None:
    read = split_pytest_command(command)
    assert read is not None
    assert tuple(read) == meaning


@pytest.mark.parametrize("command", NOT_PYTEST)
def test_what_is_no_plain_pytest_command_is_left_alone(command: str) -> None:
    assert split_pytest_command(command) is None


def test_words_are_a_shells_words() -> None:
    assert split_words("a 'b c' \"d e\" f\\ g") == ["a", "b c", "d e", "f g"]
    assert split_words("a 'b") is None


def test_the_path_grows_like_the_interpreters_own() -> None:
    before = list(sys.path)
    try:
        extend_sys_path(f"src{os.pathsep}/lib", adds_cwd=True)
        assert sys.path[:3] == [str(Path.cwd()), str(Path.cwd() / "src"), "/lib"]
        assert sys.path[3:] == before
    finally:
        sys.path[:] = before
