"""Values by structure: equal texts for equal values, bounded for endless ones, and calls as a reader writes them."""

from typing import Any

import pytest
from typing_extensions import override

from sandbox.guest.search.compare.values import MOST_TEXT, shape, to_call_text, to_text


class Slotted:
    """Without a dictionary."""

    __slots__ = ("left", "right")

    def __init__(self, left: object, right: object) -> None:
        self.left = left
        self.right = right


class Plain:
    """With any state."""

    def __init__(self, **state: object) -> None:
        self.__dict__.update(state)


class Rude:
    """Cannot be shown."""

    @override
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({1, 2, 3}, {3, 2, 1}),
        ({"a": 1, "b": {2}}, {"b": {2}, "a": 1}),
        (0.1 + 0.2, 0.3),
        (Plain(a=1, b=[2]), Plain(b=[2], a=1)),
        (Slotted(1, {2}), Slotted(1, {2})),
        (object(), object()),
    ],
)
def test_equal_values_have_equal_texts(one: object, other: object) -> None:
    assert shape(one) == shape(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1], (1,)),
        (1, True),
        (1, 1.0),
        ("1", 1),
        ({1: 2}, {1: 3}),
        (Plain(a=1), Plain(a=2)),
        (Slotted(1, 2), Slotted(2, 1)),
    ],
)
def test_other_values_and_other_types_have_other_texts(one: object, other: object) -> None:
    assert shape(one) != shape(other)


def test_endless_and_huge_values_are_bounded() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert shape(endless).count("list(") < 20
    assert len(shape([["x" * 1000] * 1000] * 1000)) <= MOST_TEXT
    assert shape(list(range(300))) != shape(list(range(301)))


def test_a_value_that_raises_when_it_is_looked_at_has_a_text_all_the_same() -> None:
    assert shape([1, Rude()]) == "list(1, Rude that cannot be read)"


def test_a_value_is_written_in_one_short_line() -> None:
    assert to_text("a\nb") == "'a\\nb'"
    assert to_text(Rude()) == "<Rude>"
    assert to_text(Plain(value=3, rest=["x" * 50])) == "Plain(value=3, rest=...)"
    assert to_text(Plain(value=Rude())) == "<Plain>"
    assert len(to_text("x" * 500)) == 120


def test_calls_are_written_as_a_reader_would() -> None:
    assert to_call_text("clamp", (3,), {"low": 5}) == "clamp(3, low=5)"
    assert to_call_text("add", (2,), {}, own=[1]) == "[1].add(2)"
    assert to_call_text("add", (2,), {}, own=Plain(size=1)) == "Plain(size=1).add(2)"
    assert to_call_text("add", (2,), {}, own=object()) == "object(...).add(2)"
