"""Which Python a job asks for."""

import pytest

from sandbox.recipe.python_versions import matrix_version, read_version

READ: dict[object, str | None] = {
    "3.11": "3.11",
    "3.11.4\n": "3.11",
    "python-3.9.1": "3.9",
    "3.13-dev": "3.13",
    3.1: "3.10",
    3.12: "3.12",
    "pypy-3.10": None,
    ">=3.9": None,
    "3.x": None,
    "": None,
    None: None,
}


@pytest.mark.parametrize("words", READ)
def test_a_plain_version_is_read(words: object) -> None:
    assert read_version(words) == READ[words]


def test_a_job_names_its_version_of_the_matrix() -> None:
    assert matrix_version("test (3.11, ubuntu)", ["3.9", 3.11]) == "3.11"
    assert matrix_version("test (3.8)", ["3.9", "3.11"]) == "3.9"
    assert matrix_version(None, "not a list") is None
