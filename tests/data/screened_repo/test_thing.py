import unittest

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
    assert capsys.readouterr().out == "9\n"


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
