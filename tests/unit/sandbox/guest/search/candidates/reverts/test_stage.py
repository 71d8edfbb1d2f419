"""The smallest revert that helps, and its effect on the suspiciousness of lines."""

from collections.abc import Callable
from typing import Any

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.candidates.reverts import (
    RevertContext,
    RevertStage,
    changes_tests,
    focus_scores,
)
from sandbox.guest.search.candidates.reverts.changed_tests import locate_tests
from sandbox.guest.search.candidates.reverts.diff import Diff
from sandbox.guest.search.source.functions import list_units
from sandbox.guest.search.source.render import SourceFile

NEW = (
    "RATE = 9\n\n\ndef total(prices, off):\n    net = sum(prices) + off\n    kind = 'b'\n"
    "    return net * RATE\n"
)
OLD = (
    "RATE = 7\n\n\ndef total(prices, off):\n    net = sum(prices) - off\n    kind = 'a'\n"
    "    return net * RATE\n"
)
HUNKS: list[dict[str, Any]] = [
    {"path": "shop.py", "line": 1, "lines": 1, "before": "RATE = 7\n"},
    {
        "path": "shop.py",
        "line": 5,
        "lines": 2,
        "before": "    net = sum(prices) - off\n    kind = 'a'\n",
    },
]


def undo(
    helps: Callable[[str], bool], undoing: RevertContext | None = None
) -> tuple[RevertStage, list[str]]:
    asked: list[str] = []

    def trial(candidate: CandidatePatch) -> bool:
        asked.append(candidate.files()["shop.py"].decode())
        return helps(asked[-1])

    source = SourceFile("shop.py", NEW.encode())
    return RevertStage(HUNKS, {"shop.py": source}, undoing or RevertContext(), trial), asked


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


def test_changed_tests_keep_undoing_in_front_and_one_trial_says_whether_they_need_the_change() -> (
    None
):
    source = SourceFile("shop.py", NEW.encode())
    asked: list[str] = []

    def helps(candidate: CandidatePatch) -> bool:
        asked.append(candidate.files()["shop.py"].decode())
        return "RATE = 7" in asked[-1] and answer

    diff = Diff(tuple(HUNKS), {"shop.py": source}, RevertContext(changed_tests=True))
    answer = True
    stage = diff.stage(helps)
    assert stage is not None
    found = stage.run()
    assert found is not None
    assert found.files()["shop.py"].decode() == NEW.replace("RATE = 9", "RATE = 7")
    assert "what the failing tests require" in found.summary
    answer, asked[:] = False, []
    again = diff.stage(helps)
    assert again is not None
    assert again.run() is None
    assert asked == [OLD]
    assert Diff((), {}, RevertContext()).stage(helps) is None


def test_what_had_to_be_undone_is_the_place() -> None:
    source = SourceFile("shop.py", NEW.encode())
    undoing = RevertContext(tuple(list_units(source, "/checkout/shop.py")))
    stage, _ = undo(lambda text: "- off" in text, undoing)
    stage.run()
    scores = {"shop.py": {1: 0.6, 5: 0.4, 7: 1.0}, "other.py": {3: 0.9}}
    focus_scores(stage.parts, scores, undoing)
    assert scores["shop.py"][5] == 1.0
    assert scores["shop.py"][7] == 0.85
    assert scores["other.py"][3] < 0.65
    assert scores["shop.py"][1] < 0.5


TESTS = b"import pytest\n\n\nclass TestShop:\n    @pytest.mark.slow\n    def test_a(self):\n        assert 1\n\n\ndef test_b():\n    assert 2\n"


def test_a_failing_test_that_the_diff_changed_asks_for_the_change() -> None:
    places = locate_tests(["test_shop.py::TestShop::test_a[x-1]"], lambda _: TESTS)
    assert places == [("test_shop.py", 5, 7)]
    assert changes_tests([{"path": "test_shop.py", "line": 7, "lines": 1}], places)
    assert not changes_tests([{"path": "test_shop.py", "line": 11, "lines": 1}], places)
    assert not changes_tests([{"path": "shop.py", "line": 7, "lines": 1}], places)


def test_tests_that_cannot_be_found_ask_for_nothing() -> None:
    assert locate_tests(["test_shop.py::test_gone", "test_shop.py"], lambda _: TESTS) == []
    assert locate_tests(["gone.py::test_a"], lambda _: None) == []
    assert locate_tests(["bad.py::test_a"], lambda _: b"def (") == []
