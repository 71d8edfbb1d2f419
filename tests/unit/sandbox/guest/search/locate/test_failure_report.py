"""What a failure says: frames, operands of the assertion, names of the failing statement."""

import unittest
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from sandbox.guest.search.locate.failure_report import FailureReport, describe_failure, quoted_names

SOURCE = """
def slug(text):
    return text.replace(" ", "-")


def broken(value):
    try:
        return 1 // value
    except ZeroDivisionError as error:
        raise ValueError("no value 'zero'") from error
"""
TESTS = """
import unittest


def test_plain(slug):
    wanted = "foo_bar"
    assert slug("foo bar") == wanted


def test_raises(broken):
    broken(0)


class Case(unittest.TestCase):
    def runTest(self):
        self.assertEqual([1, "a"], [1, "b"])
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str, str], ModuleType]:
    def loaded(name: str, text: str) -> ModuleType:
        path = tmp_path / name
        path.write_text(text)
        module = ModuleType(name)
        exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102 - our own text, no candidate
        return module

    return loaded


def said(root: Path, call: Callable[[], object]) -> FailureReport:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever the test raises
        return describe_failure(
            error, lambda name: "shop.py" if name == str(root / "shop.py") else None, str(root)
        )
    return pytest.fail("nothing was raised")


def test_both_sides_of_an_assertion_are_worked_out(
    load: Callable[[str, str], ModuleType], tmp_path: Path
) -> None:
    shop, tests = load("shop.py", SOURCE), load("test_shop.py", TESTS)
    found = said(tmp_path, lambda: tests.test_plain(shop.slug))
    assert found.asserted
    assert found.pairs == (("foo-bar", "foo_bar"),)
    assert "slug" in found.called
    assert found.frames == ((),)


def test_frames_of_the_whole_chain_are_told(
    load: Callable[[str, str], ModuleType], tmp_path: Path
) -> None:
    shop, tests = load("shop.py", SOURCE), load("test_shop.py", TESTS)
    found = said(tmp_path, lambda: tests.test_raises(shop.broken))
    assert not found.asserted
    assert found.kind == "ValueError"
    assert found.frames == ((("shop.py", 10, 6),), (("shop.py", 8, 6),))
    assert quoted_names(found.message) == ["zero"]


def test_values_given_to_an_assertion_helper_are_read(
    load: Callable[[str, str], ModuleType], tmp_path: Path
) -> None:
    case: unittest.TestCase = load("test_shop.py", TESTS).Case()
    found = said(tmp_path, case.debug)
    assert found.pairs == (("a", "b"),)


def test_what_a_child_told_is_read_back(
    load: Callable[[str, str], ModuleType], tmp_path: Path
) -> None:
    shop, tests = load("shop.py", SOURCE), load("test_shop.py", TESTS)
    found = said(tmp_path, lambda: tests.test_raises(shop.broken))
    assert FailureReport.from_json([*found]) == found
