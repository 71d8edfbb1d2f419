"""Delta debugging: a minimal sufficient set of changes, within a number of calls."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.guest.search.candidates.reverts.delta_debugging import minimize


@pytest.mark.parametrize("needed", [{3}, {0, 7}, {1, 2, 6}, set(range(8))])
def test_exactly_what_is_needed_is_kept(needed: set[int]) -> None:
    assert minimize(list(range(8)), lambda chosen: needed <= set(chosen), most=200) == sorted(
        needed
    )


@given(
    st.integers(1, 24).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1), min_size=1))
    )
)
def test_nothing_can_be_left_out_of_what_is_found(case: tuple[int, set[int]]) -> None:
    count, needed = case
    found = minimize(list(range(count)), lambda chosen: needed <= set(chosen), most=5_000)
    assert set(found) == needed


def test_no_subset_is_asked_about_twice_and_the_limit_holds() -> None:
    asked: list[tuple[int, ...]] = []

    def helps(chosen: Sequence[int]) -> bool:
        asked.append(tuple(chosen))
        return {2, 11} <= set(chosen)

    found = minimize(list(range(16)), helps, most=9)
    assert len(asked) == len(set(asked)) <= 9
    assert {2, 11} <= set(found)


def test_one_thing_is_not_asked_about() -> None:
    assert minimize(["only"], lambda _: pytest.fail("asked"), most=5) == ["only"]
