"""A random order keeps folders, modules and classes together."""

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from sandbox.guest.order import shuffle_order

PATHS = [
    [folder, module, group][:depth]
    for folder in "ab"
    for module in "mno"
    for group, depth in (("C", 3), ("D", 3), ("", 2))
    for _ in range(3)
]


def contiguous(values: list[tuple[str, ...]]) -> bool:
    runs = [key for key, _ in groupby(values)]
    return len(runs) == len(set(runs))


@given(st.integers(0, 2**40))
def test_every_test_comes_once_and_what_belongs_together_stays_together(seed: int) -> None:
    order = shuffle_order(PATHS, seed)
    assert sorted(order) == list(range(len(PATHS)))
    assert contiguous([tuple(PATHS[index][:1]) for index in order])
    assert contiguous([tuple(PATHS[index][:2]) for index in order])
    assert contiguous([tuple(PATHS[index]) for index in order if len(PATHS[index]) == 3])


def test_a_seed_names_one_order_and_seeds_differ() -> None:
    orders = {tuple(shuffle_order(PATHS, seed)) for seed in range(20)}
    assert len(orders) == 20
    assert shuffle_order(PATHS, 7) == shuffle_order(PATHS, 7)


def test_nothing_to_shuffle_is_fine() -> None:
    assert shuffle_order([], 3) == []
    assert shuffle_order([[]], 3) == [0]
