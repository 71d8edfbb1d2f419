"""Edits of what the tests check with are found: helpers, contexts, comparisons, fixtures."""

import pytest

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.candidates.oracles import (
    MOST_IN_ALL,
    changes_oracle,
    may_change_oracle,
    read_oracles,
)
from sandbox.guest.search.source.render import SourceFile, TextEdit

TESTS = b"""
from shop import Money, assert_same, raises, add, pay

def test_it():
    assert_same(add(1, 2), 3)
    with raises(ValueError):
        pay(-1)
    assert Money(1) == Money(1)
    add.reset()
"""
PRODUCT = """
import pytest

def assert_same(one, two):
    if one != two:
        raise AssertionError(one)  # HELPER

def raises(kind):
    return Raises(kind)  # CONTEXT

class Raises:
    def __exit__(self, kind, error, trace):
        return issubclass(kind, self.kind)  # EXIT

class Money:
    def __eq__(self, other):
        return self.cents == other.cents  # EQUAL

    def __lt__(self, other):
        return self.cents < other.cents  # LESS

    def reset(self):
        self.cents = 0  # RESET

@pytest.fixture
def till():
    return Money(0)  # FIXTURE

def pytest_configure(config):
    config.x = 1  # HOOK

def add(a, b):
    return a + b  # PRODUCT

def check_out(basket):
    return basket.total()  # CHECK OUT
"""


def leans(mark: str, path: str = "shop.py") -> bool:
    at = PRODUCT.index(f"# {mark}")
    source = SourceFile(path, PRODUCT.encode())
    candidate = CandidatePatch("x", 1.0, 0.5, 1, source, None, (TextEdit(at, at, "x"),))
    return changes_oracle(candidate, read_oracles([b"def broken(:", TESTS]))


@pytest.mark.parametrize("mark", ["HELPER", "CONTEXT", "EXIT", "EQUAL", "FIXTURE", "HOOK"])
def test_what_tests_check_with_is_found(mark: str) -> None:
    assert leans(mark)


@pytest.mark.parametrize("mark", ["LESS", "RESET", "PRODUCT", "CHECK OUT"])
def test_the_product_is_not(mark: str) -> None:
    assert not leans(mark)
    assert leans(mark, "shop/testing.py")


def test_a_limited_number_of_bytes_is_read_failing_tests_first() -> None:
    """It happens within the time limit of the search."""
    large = b"#" * MOST_IN_ALL
    assert read_oracles([TESTS, large]).helpers == {"assert_same", "raises"}
    assert read_oracles([large, TESTS]).helpers == set()


@pytest.mark.parametrize(
    "use",
    [
        "helper(1)",
        "await shop.helper(1)",
        "with helper(): pass",
        "async with shop.helper() as seen: pass",
        "assert helper(1)",
        "assert not shop.helper(1) and x",
        "assert helper(1) is True",
        "assert helper(1) == helper(2)",
        "self.assertTrue(helper(1))",
    ],
)
def test_a_function_whose_value_only_checks_is_found_whatever_its_name(use: str) -> None:
    body = f"async def test_it(self):\n    {use}\n".encode()
    assert "helper" in read_oracles([body]).only_checking
    assert "helper" not in read_oracles([body, b"x = helper(1)"]).only_checking


@pytest.mark.parametrize(
    "use",
    [
        "x = helper(1)",
        "assert helper(1) == 3",
        "assert same(helper(1), 3)",
        "helper(1).run()",
        "return helper(1)",
        "assert helper(1) == other(1)",
    ],
)
def test_a_function_whose_value_is_looked_at_is_not(use: str) -> None:
    body = f"def test_it(self):\n    {use}\n".encode()
    assert "helper" not in read_oracles([body]).only_checking


@pytest.mark.parametrize(("mark", "may"), [("RESET", True), ("CHECK OUT", False)])
def test_an_edit_of_such_a_function_is_found(mark: str, *, may: bool) -> None:
    at = PRODUCT.index(f"# {mark}")
    source = SourceFile("shop.py", PRODUCT.encode())
    candidate = CandidatePatch("x", 1.0, 0.5, 1, source, None, (TextEdit(at, at, "x"),))
    assert may_change_oracle(candidate, read_oracles([TESTS])) is may
