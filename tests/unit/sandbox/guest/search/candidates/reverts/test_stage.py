"""The smallest part of a diff that helps when it is undone, and what that says about the place."""

from collections.abc import Callable
from typing import Any

from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.candidates.reverts import Undo, Undoing, asks_for_change, confirmed
from sandbox.guest.search.candidates.reverts.asking import places_of
from sandbox.guest.search.source.functions import units_of
from sandbox.guest.search.source.render import Source

NEW = "RATE = 9\n\n\ndef total(prices, off):\n    net = sum(prices) + off\n    kind = 'b'\n    return net * RATE\n"
OLD = "RATE = 7\n\n\ndef total(prices, off):\n    net = sum(prices) - off\n    kind = 'a'\n    return net * RATE\n"
HUNKS: list[dict[str, Any]] = [
    {"path": "shop.py", "line": 1, "lines": 1, "before": "RATE = 7\n"},
    {"path": "shop.py", "line": 5, "lines": 2, "before": "    net = sum(prices) - off\n    kind = 'a'\n"},
]


def undo(helps: Callable[[str], bool], undoing: Undoing | None = None) -> tuple[Undo, list[str]]:
    asked: list[str] = []

    def trial(candidate: Candidate) -> bool:
        asked.append(candidate.files()["shop.py"].decode())
        return helps(asked[-1])

    source = Source("shop.py", NEW.encode())
    return Undo(HUNKS, {"shop.py": source}, undoing or Undoing(), trial), asked


def test_a_change_of_one_word_is_found_inside_a_hunk() -> None:
    stage, asked = undo(lambda text: "- off" in text)
    found = stage.run()
    assert found is not None
    assert found.template == "undo_part"
    assert found.files()["shop.py"].decode() == NEW.replace("+ off", "- off")
    assert [part.first for part in stage.parts] == [5]
    assert len(asked) < 12


def test_two_changes_that_belong_together_are_undone_together() -> None:
    stage, _ = undo(lambda text: "- off" in text and "RATE = 7" in text)
    found = stage.run()
    assert found is not None
    assert found.files()["shop.py"].decode() == OLD.replace("'a'", "'b'")
    assert sorted(part.first for part in stage.parts) == [1, 5]


def test_when_undoing_everything_does_not_help_nothing_else_is_tried() -> None:
    stage, asked = undo(lambda _: False)
    assert stage.run() is None
    assert asked == [OLD]


def test_what_had_to_be_undone_is_the_place() -> None:
    source = Source("shop.py", NEW.encode())
    undoing = Undoing(tuple(units_of(source, "/checkout/shop.py")))
    stage, _ = undo(lambda text: "- off" in text, undoing)
    stage.run()
    scores = {"shop.py": {1: 0.6, 5: 0.4, 7: 1.0}, "other.py": {3: 0.9}}
    confirmed(stage.parts, scores, undoing)
    assert scores["shop.py"][5] == 1.0
    assert scores["shop.py"][7] == 0.85
    assert scores["other.py"][3] < 0.65
    assert scores["shop.py"][1] < 0.5


TESTS = b"import pytest\n\n\nclass TestShop:\n    @pytest.mark.slow\n    def test_a(self):\n        assert 1\n\n\ndef test_b():\n    assert 2\n"


def test_a_failing_test_that_the_diff_changed_asks_for_the_change() -> None:
    places = places_of(["test_shop.py::TestShop::test_a[x-1]"], lambda _: TESTS)
    assert places == [("test_shop.py", 5, 7)]
    assert asks_for_change([{"path": "test_shop.py", "line": 7, "lines": 1}], places)
    assert not asks_for_change([{"path": "test_shop.py", "line": 11, "lines": 1}], places)
    assert not asks_for_change([{"path": "shop.py", "line": 7, "lines": 1}], places)


def test_tests_that_cannot_be_found_ask_for_nothing() -> None:
    assert places_of(["test_shop.py::test_gone", "test_shop.py"], lambda _: TESTS) == []
    assert places_of(["gone.py::test_a"], lambda _: None) == []
    assert places_of(["bad.py::test_a"], lambda _: b"def (") == []
