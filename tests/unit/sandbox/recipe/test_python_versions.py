"""Which Python a job asks for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.recipe.python_versions import (
    is_other_python,
    is_python2,
    read_version,
    version_in_file,
)

READ: dict[object, str | None] = {
    "3.11": "3.11",
    "3.11.4\n": "3.11",
    "python-3.9.1": "3.9",
    "3.13-dev": "3.13",
    "3.13t": "3.13",
    "3.13.0-rc.1": "3.13",
    3.1: "3.10",
    3.12: "3.12",
    "3.8\n3.9\n": "3.9",
    "pypy-3.10": "3.10",
    "pypy3.9-v7.3": "3.9",
    "3.10.x": "3.10",
    "~3.10": "3.10",
    "==3.10.*": "3.10",
    ">=3.9": None,
    ">=3.12": "3.12",
    ">= 3.9, < 3.12": None,
    ">=3.8,<3.11": "3.10",
    ">=3.8 <3.11": "3.10",
    "<3.11": "3.10",
    "^3.12": "3.12",
    "^3.9": None,
    "3.9 - 3.12": "3.12",
    ">=3.7,<4": None,
    "3.x": None,
    "3": None,
    "x": None,
    "2.7": None,
    "": None,
    None: None,
}


@pytest.mark.parametrize("words", READ)
def test_a_version_is_read_and_a_range_the_usual_python_satisfies_asks_for_none(
    words: object,
) -> None:
    assert read_version(words) == READ[words]


def test_other_pythons_are_told_apart() -> None:
    assert [is_other_python(words) for words in ("pypy3.9", "3.13t", "3.13", "3.13-dev")] == [
        True,
        True,
        False,
        False,
    ]
    assert [is_python2(words) for words in ("2.7", "2.x", "pypy2.7", "3.2")] == [
        True,
        True,
        True,
        False,
    ]


def test_version_files_are_read() -> None:
    assert (
        version_in_file("a/.python-version", {"a/.python-version": b"# mine\n3.10\n3.9\n"})
        == "3.10"
    )
    assert (
        version_in_file(
            "pyproject.toml", {"pyproject.toml": b'[tool.poetry.dependencies]\npython = "~3.10"'}
        )
        == "3.10"
    )
    assert version_in_file("pyproject.toml", {"pyproject.toml": b"[["}) is None
    assert version_in_file("nothing", {}) is None


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="0123456789.<>=~^!, x*-\npyv", max_size=40))
def test_any_words_give_a_version_or_none(words: str) -> None:
    found = read_version(words)
    assert found is None or found.startswith("3.")


@pytest.mark.parametrize("text", ["x = " + "1" * 5_000, "x = " + "[" * 5_000, "x ="])
def test_a_file_that_cannot_be_read_names_no_version(text: str) -> None:
    assert version_in_file("pyproject.toml", {"pyproject.toml": text.encode()}) is None
