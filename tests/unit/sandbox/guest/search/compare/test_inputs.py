"""Inputs near recorded ones: types are kept, what values have in common is noticed, smaller ones are smaller."""

import typing
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from sandbox.guest.search.compare.inputs import describe_values, make_strategy, simplify, vary
from sandbox.guest.search.compare.neighbours import neighbours
from sandbox.guest.search.compare.record import Input


def a_chance(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - the same every time


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, st.integers(0, 9))
def test_a_varied_value_keeps_its_type(value: object, seed: int) -> None:
    assert type(vary(value, a_chance(seed))) is type(value)


@given(VALUES)
def test_smaller_values_keep_their_type_and_end(value: object) -> None:
    for _ in range(200):
        found = simplify(value)
        assert all(type(less) is type(value) for less in found)
        if not found:
            return
        value = found[0]
    raise AssertionError("it never ends")


@pytest.mark.parametrize(
    ("seen", "inside", "outside"),
    [
        ([1, 2, 5], 7, 0),
        ([0, 2, 5], 0, -1),
        ([-1, 2], -9, 1.5),
        ([[1, 2], [3, 5], [2, 9]], [1, 4], [4, 1]),
        ([[2, 1], [3, 5], [2, 9]], [4, 1], [1, -1]),
        (["ab", "ba", "aab", "bb"], "abab", "abc"),
        (["12", "7"], "345", "x"),
        (["(())", "()", "(()())", "((()))"], "((", "(a)"),
        ([[1], [2, 3]], [4], []),
        ([[], [2, 3]], [], None),
        ([1.0, 2.0], 3.0, 3.5),
    ],
)
def test_what_recorded_values_have_in_common_is_noticed(
    seen: list[object], inside: object, outside: object
) -> None:
    custom = describe_values(seen)
    assert custom.holds(inside)
    assert not custom.holds(outside)


def clamp(value: int, low: int = 0, *, names: list[str] | None = None) -> int:
    return max(value, low) + len(names or ())


def helper(rows: object, count: object) -> None:
    pass


def a_call(*positional: object, failing: bool = False, **named: object) -> Input:
    return Input(clamp, positional, named, entry=True, edited=True, failing=failing)


def test_neighbours_are_the_same_every_time_and_stay_near() -> None:
    calls = [
        a_call(3, 1, names=["a"]),
        a_call(9, 2, names=None),
        a_call(4, 4, names=["b", "c"], failing=True),
    ]
    found = neighbours(calls, 60, 1)
    assert [(i.positional, i.named) for i in found] == [
        (i.positional, i.named) for i in neighbours(calls, 60, 1)
    ]
    assert len(found) == 60
    assert all(not i.recorded for i in found)
    assert sum(i.far for i in found) <= 21
    assert {i.failing for i in found} == {True, False}
    assert {len(i.positional) for i in found} == {2}


def test_numbers_that_were_always_in_order_stay_in_order_on_likely_inputs() -> None:
    def between(start: object, end: object) -> None:
        pass

    calls = [
        Input(between, (a, b), {}, entry=True, edited=True, failing=False)
        for a, b in ((1, 5), (2, 9), (4, 4))
    ]
    found = neighbours(calls, 60, 1)
    assert all(i.positional[0] <= i.positional[1] for i in found if not i.far)
    assert any(i.positional[0] > i.positional[1] for i in found if i.far)


def test_a_method_keeps_the_object_it_is_called_on() -> None:
    class Basket:
        def add(self, count: int) -> int:
            return count

    basket = Basket()
    call = Input(Basket.add, (basket, 3), {}, entry=True, edited=True, failing=False)
    assert {type(i.positional[0]) for i in neighbours([call], 12, 1)} == {Basket}


def test_a_parameter_that_was_always_left_out_is_given_values_too() -> None:
    def steps(start: object, count: object = None, *, key: object = None) -> None:
        pass

    call = Input(steps, (1, None), {"key": None}, entry=True, edited=True, failing=False)
    near = [i for i in neighbours([call], 60, 1) if not i.far]
    assert {type(i.positional[1]) for i in near} >= {int, type(None)}
    assert any(i.named["key"] is not None for i in near)


def test_calls_without_arguments_have_no_neighbours() -> None:
    assert neighbours([Input(clamp, (), {}, entry=True, edited=True, failing=False)], 12, 1) == []
    assert neighbours([], 12, 1) == []


def test_values_that_cannot_be_looked_at_keep_nobody_from_varying_the_others() -> None:
    class Rude(list[int]):
        @override
        def __repr__(self) -> str:
            raise AttributeError

        @override
        def __len__(self) -> int:
            raise AttributeError

    calls = [
        Input(f, (v, 1), {}, entry=True, edited=True, failing=False)
        for f, v in ((helper, Rude()), (clamp, 2))
    ]
    assert {call.function for call in neighbours(calls, 12, 1)} >= {clamp}


def test_values_that_cannot_be_copied_are_left_alone() -> None:
    stubborn = (i for i in range(3))
    call = Input(helper, (stubborn, 1), {}, entry=True, edited=True, failing=False)
    assert neighbours([call], 5, 1) == []


@pytest.mark.parametrize(
    ("hint", "kinds"),
    [
        (int, {int}),
        (list[str], {list}),
        (typing.Optional[int], {int, type(None)}),  # noqa: UP045 - what old code is annotated with
        (tuple[int, str], {tuple}),
        (dict[str, int], {dict}),
        (tuple[int, ...], {tuple}),
    ],
)
def test_annotations_give_values_of_their_type(hint: object, kinds: set[type]) -> None:
    make = make_strategy(hint)
    assert make is not None
    chance = a_chance(1)
    assert {type(make(chance)) for _ in range(40)} == kinds


@pytest.mark.parametrize(
    "hint", [object, typing.Any, typing.Callable[[], int], list[object], "int"]
)
def test_annotations_that_say_too_little_give_nothing(hint: object) -> None:
    assert make_strategy(hint) is None


def clipped(value: int) -> int:
    return min(value, 256)


def clipped_lower(value: int) -> int:
    return min(value, 200)


def test_inputs_stand_at_the_numbers_that_a_function_mentions_and_those_it_may_come_to_mention() -> (
    None
):
    calls = [
        Input(clipped, (value,), {}, entry=True, edited=True, failing=False)
        for value in (3, 12, 900)
    ]
    near = neighbours(calls, 200, 1, {clipped: [clipped_lower.__code__]})
    seen = {call.positional[0] for call in near}
    assert {255, 256, 257, 199, 200, 201} <= seen
    assert near == neighbours(calls, 200, 1, {clipped: [clipped_lower.__code__]})
