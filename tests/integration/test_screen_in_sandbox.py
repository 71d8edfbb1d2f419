"""The screen in a real sandbox: sharing executions, running each candidate, and plain pytest say the same."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.search_rate import measured, suite_folder
from sandbox.backends.docker_container import DockerBackend
from sandbox.backends.guest_tree import GUEST_DIR
from sandbox.spec import SandboxSpec
from sandbox.workspace import Sandboxes

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

THING = """import functools
import os

SEEN = []
KNOWN = {}


class Box:
    count = 0

    def __init__(self, items):
        self.items = items

    @property
    def size(self):
        SEEN.append(1)
        return len(self.items)

    def clamp(self, value, low, high, past=[]):
        past.append(value)
        Box.count += 1
        KNOWN[value] = low
        os.environ["LAST"] = str(value)
        if value < low:
            return low
        if value > high:
            return low
        return value


@functools.lru_cache(maxsize=None)
def cached(value):
    return Box([]).clamp(value, 0, 10)


def sort(items):
    items.sort()
    while len(items) > 9:
        items.pop()
    return items
"""
THING_TESTS = """import unittest

import pytest

import thing
from thing import Box, cached, sort


@pytest.fixture(scope="module")
def shared():
    return Box([5])


@pytest.fixture(autouse=True)
def around(monkeypatch):
    monkeypatch.setattr(thing, "SEEN", [])
    yield
    assert isinstance(thing.SEEN, list)


def test_low():
    assert Box([]).clamp(-5, 0, 10) == 0


def test_high(shared):
    shared.items.append(1)
    assert shared.clamp(50, 0, 10) == 10


def test_cached():
    assert cached(20) == 10
    assert cached(5) == 5


@pytest.mark.parametrize("items, wanted", [([3, 1, 2], [1, 2, 3]), ([2, 1], [1, 2])])
def test_parameters_change_in_place(items, wanted):
    assert Box(items).clamp(1, 0, 2) == 1
    assert sort(items) == wanted


def test_output(capsys, tmp_path):
    print(Box([]).clamp(99, 0, 9))
    (tmp_path / "a").write_text("b")
    assert capsys.readouterr().out == "9\\n"


class TestBox:
    def setup_method(self):
        self.box = Box([1])

    def test_size(self):
        self.box.items.append(1)
        assert self.box.size == 2
        assert self.box.clamp(3, 1, 2) == 2


class TestUnit(unittest.TestCase):
    def setUp(self):
        self.box = Box([1, 2])

    def test_high(self):
        self.assertEqual(self.box.clamp(3, 1, 2), 2)

    def test_parts(self):
        for value in (1, 2, 3):
            with self.subTest(value=value):
                self.assertEqual(self.box.clamp(value, 1, 2), min(value, 2))


def test_inside():
    assert Box([]).clamp(4, 1, 5) == 4
"""
RED = ("test_high", "test_cached", "test_output", "TestBox::test_size", "TestUnit::test_high", "TestUnit::test_parts")


def thing_folder(folder: Path) -> Path:
    """A function that leaves traces everywhere, tested in every style."""
    folder.mkdir()
    (folder / "thing.py").write_text(THING)
    (folder / "test_thing.py").write_text(THING_TESTS)
    names = {"failing": [f"test_thing.py::{name}" for name in RED], "passing": []}
    (folder / "meta.json").write_text(json.dumps(names))
    return folder


@pytest.mark.parametrize("folder_of", [thing_folder, suite_folder])
async def test_nobody_disagrees(folder_of: Callable[[Path], Path], docker_ready: None, tmp_path: Path) -> None:
    sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec(pool=0)), tmp_path / "data")
    told = await measured(sandboxes, folder_of(tmp_path / "repo"), f"{GUEST_DIR} 200 2")
    assert told.get("because") is None, told
    assert told["screens differ"] == []
    assert told["disagreements"] == []
    assert int(str(told["survivors"])) >= 1
    assert int(str(told["different"])) > 100
