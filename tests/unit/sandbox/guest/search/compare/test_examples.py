"""Examples in docstrings: which are understood, and whether they hold."""

from collections.abc import Callable
from typing import Any

import pytest

from sandbox.guest.search.compare.examples import broken, find_examples


def run(call: Callable[[], Any]) -> Any:
    return call()


def double(value: int) -> int:
    """Twice.

    >>> double(2)
    4
    >>> double(3)
    7
    """
    return 2 * value


def words(text: str) -> list[str]:
    """Cuts a text.

    words("a b") == ["a", "b"] and words("") -> []
    Also `words("x")` returns ['x'], words('y') => ["z"].
    words(text) is a list; other(words) == 3; words(1, == 3
    """
    return text.split()


def test_examples_of_a_terminal_are_found_and_tried() -> None:
    found = find_examples([double])
    assert [(e.call, e.wanted) for e in found] == [("double(2)", "4"), ("double(3)", "7")]
    assert broken(found, run) == [1]


def test_examples_in_prose_are_found_and_tried() -> None:
    found = find_examples([words])
    assert [e.call for e in found] == ['words("a b")', 'words("")', 'words("x")', "words('y')"]
    assert broken(found, run) == [3]


@pytest.mark.parametrize(
    "text", ["", ">>> f(1", ">>> f()\nTraceback (most recent call last):\n", "f(f(f(", "f(1) == "]
)
def test_what_is_no_example_is_none(text: str) -> None:
    def f() -> None:
        pass

    f.__doc__ = text
    assert find_examples([f]) == []


def test_a_docstring_that_is_no_text_is_no_example() -> None:
    def f() -> None:
        pass

    f.__doc__ = 7  # type: ignore[assignment]
    assert find_examples([f]) == []
