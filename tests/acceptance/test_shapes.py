"""Small projects of every usual shape, each with one mistake: how `metaagent fix` ends on them."""

import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.acceptance.test_fix_command import fix


class Shape(NamedTuple):
    """A project, the mistake in it, and how it is tested.

    Attributes:
        files: The green project, by path.
        path: The file with the mistake.
        right: What stands there.
        wrong: What stands there by mistake.
        command: Its test command.
    """

    files: dict[str, str]
    path: str
    right: str
    wrong: str
    command: str


PYPROJECT = (
    '[project]\nname = "{0}"\nversion = "1"\nrequires-python = ">=3.8"\ndependencies = [{1}]\n'
)
SRC_LAYOUT = Shape(
    files={
        "pyproject.toml": PYPROJECT.format("parcel", ""),
        "src/parcel/__init__.py": "from parcel.label import label\n\n__all__ = ['label']\n",
        "src/parcel/label.py": (
            "from parcel.weight import kilograms\n\n\n"
            "def label(name, grams):\n    return f'{name}: {kilograms(grams):.2f} kg'\n"
        ),
        "src/parcel/weight.py": (
            "from parcel.units import GRAMS_IN_KILOGRAM\n\n\n"
            "def kilograms(grams):\n    return grams / GRAMS_IN_KILOGRAM\n"
        ),
        "src/parcel/units.py": "GRAMS_IN_KILOGRAM = 1000\n",
        "tests/test_label.py": (
            "from parcel import label\n\n\n"
            "def test_a_book():\n    assert label('book', 500) == 'book: 0.50 kg'\n\n\n"
            "def test_nothing():\n    assert label('air', 0) == 'air: 0.00 kg'\n"
        ),
    },
    path="src/parcel/weight.py",
    right="grams / GRAMS",
    wrong="grams * GRAMS",
    command="python -m pytest -q",
)
FLAT_UNITTEST = Shape(
    files={
        "clock.py": "def minutes(hours, rest):\n    return hours * 60 + rest\n",
        "test_clock.py": (
            "import unittest\n\nfrom clock import minutes\n\n\n"
            "class Minutes(unittest.TestCase):\n"
            "    def test_hours(self):\n        self.assertEqual(minutes(2, 0), 120)\n\n"
            "    def test_rest(self):\n        self.assertEqual(minutes(1, 5), 65)\n"
        ),
    },
    path="clock.py",
    right="60 + rest",
    wrong="60 - rest",
    command="python -m unittest",
)
DEPENDENCY = Shape(
    files={
        "requirements.txt": "packaging\npytest\n",
        "newer.py": (
            "from packaging.version import Version\n\n\n"
            "def is_newer(one, other):\n    return Version(one) > Version(other)\n"
        ),
        "test_newer.py": (
            "from newer import is_newer\n\n\n"
            "def test_ten_is_newer_than_nine():\n    assert is_newer('1.10', '1.9')\n\n\n"
            "def test_a_version_is_not_newer_than_itself():\n    assert not is_newer('1.0', '1.0')\n\n\n"
            "def test_one_is_not_newer_than_two():\n    assert not is_newer('1', '2')\n"
        ),
    },
    path="newer.py",
    right=") > Version",
    wrong=") < Version",
    command="python -m pytest -q",
)
FASTAPI = Shape(
    files={
        "requirements.txt": "fastapi\nhttpx\npytest\n",
        "app.py": (
            "from fastapi import FastAPI\n\napp = FastAPI()\n\n\n"
            "@app.get('/double/{number}')\ndef double(number: int):\n    return {'result': number * 2}\n"
        ),
        "test_app.py": (
            "from fastapi.testclient import TestClient\n\nfrom app import app\n\n"
            "client = TestClient(app)\n\n\n"
            "def test_double():\n    assert client.get('/double/4').json() == {'result': 8}\n\n\n"
            "def test_zero():\n    assert client.get('/double/0').json() == {'result': 0}\n"
        ),
    },
    path="app.py",
    right="number * 2",
    wrong="number ** 2",
    command="python -m pytest -q",
)
FLASK = Shape(
    files={
        "requirements.txt": "flask\npytest\n",
        "shop.py": (
            "from flask import Flask, abort, jsonify\n\napp = Flask(__name__)\nPRICES = {'pen': 2, 'book': 12}\n\n\n"
            "@app.get('/price/<name>')\ndef price(name):\n"
            "    if name not in PRICES:\n        abort(404)\n    return jsonify(price=PRICES[name])\n"
        ),
        "test_shop.py": (
            "from shop import app\n\n\n"
            "def test_a_known_thing_has_a_price():\n"
            "    assert app.test_client().get('/price/pen').json == {'price': 2}\n\n\n"
            "def test_an_unknown_thing_is_not_found():\n"
            "    assert app.test_client().get('/price/moon').status_code == 404\n"
        ),
    },
    path="shop.py",
    right="name not in PRICES",
    wrong="name in PRICES",
    command="python -m pytest -q",
)
CHECKS = Shape(
    files={
        "requirements.txt": "mypy\npytest\nruff\n",
        "Makefile": "check:\n\truff check .\n\tmypy limits.py\n\tpython -m pytest -q\n",
        "limits.py": (
            "def clamp(value: int, low: int, high: int) -> int:\n"
            "    if value < low:\n        return low\n    if value > high:\n        return high\n    return value\n"
        ),
        "test_limits.py": (
            "from limits import clamp\n\n\n"
            "def test_low():\n    assert clamp(1, 2, 5) == 2\n\n\n"
            "def test_high():\n    assert clamp(9, 2, 5) == 5\n\n\n"
            "def test_between():\n    assert clamp(3, 2, 5) == 3\n"
        ),
    },
    path="limits.py",
    right="def clamp(value: int, low: int, high: int) -> int:\n    if value < low",
    wrong="import os\n\n\ndef clamp(value: int, low: int, high: int) -> int:\n    if value > low",
    command="make check",
)
SHAPES = {
    "src layout, two modules away": SRC_LAYOUT,
    "flat, unittest": FLAT_UNITTEST,
    "a dependency": DEPENDENCY,
    "FastAPI": FASTAPI,
    "Flask": FLASK,
    "lint, types and tests": CHECKS,
}


def write_and_commit(tree: Path, files: dict[str, str]) -> None:
    """Write a project into a new folder and commit it."""
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(content)
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=A", "-c", "user.email=a@b.example", "commit", "-qm1"],
    ):
        subprocess.run(["git", *words], cwd=tree, check=True)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_mistake_in_a_project_of_this_shape_is_fixed(
    tmp_path: Path, docker_ready: None, shape: Shape
) -> None:
    tree = tmp_path / "tree"
    write_and_commit(tree, shape.files)
    file = tree / shape.path
    assert file.read_text().count(shape.right) == 1
    file.write_text(file.read_text().replace(shape.right, shape.wrong))
    status, result = fix(str(tree), "--test", shape.command, "--apply", folder=tmp_path)
    assert (status, result["outcome"], result["applied"]) == (0, "FIXED", True), result
    assert shape.right in file.read_text()


UNREPAIRABLE = {
    "requirements.txt": "mypy\npytest\nruff\n",
    "Makefile": "check:\n\truff check .\n\tpython -m pytest -q\n",
    "words.py": "import os\n\n\ndef shout(word):\n    return word.upper()\n",
    "test_words.py": (
        "from words import shout\n\n\n"
        "def test_shout():\n    assert shout('a') == 'A'\n\n\n"
        "def test_that_no_product_can_pass():\n    assert sorted('ab') == ['b', 'a']\n"
    ),
}
"""An unused import hides a test that no change of the product repairs."""


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("command", ["ruff check . && mypy words.py && pytest -q", "make check"])
def test_a_fix_of_the_first_command_that_uncovers_the_second_is_partial(
    tmp_path: Path, docker_ready: None, command: str
) -> None:
    tree = tmp_path / "tree"
    write_and_commit(tree, UNREPAIRABLE)
    words = [str(tree), "--test", command, "--time-limit", "10"]
    status, result = fix(*words, folder=tmp_path)
    assert (status, result["outcome"]) == (1, "PARTIAL"), result
    assert "-import os\n" in result["diff"]
    assert "the failing step does not run them" not in result["report"]
    assert "Cause\n  test_that_no_product_can_pass" in result["report"], "it went on to the tests"
