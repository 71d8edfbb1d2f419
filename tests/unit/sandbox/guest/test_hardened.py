"""Functions whose parts cannot be exchanged."""

from typing import Any

import pytest

from sandbox.guest.hardened import harden_function

GLOBAL = [1, 2]


def counting(start: int) -> Any:
    state = [start]

    def count(step: int, *, twice: bool = False) -> int:
        if twice:
            state[0] += step
        state[0] += step + len(GLOBAL)
        return state[0]

    return count


def test_it_does_the_same_without_cells_and_names() -> None:
    plain, hard = counting(5), harden_function(counting(5))
    assert [plain(1), plain(2, twice=True)] == [hard(1), hard(2, twice=True)] == [8, 14]
    assert hard.__closure__ is None
    assert hard.__globals__ == {"__builtins__": {}}
    assert hard.__code__.co_firstlineno == plain.__code__.co_firstlineno


def test_an_exchanged_cell_or_name_changes_nothing() -> None:
    plain = counting(5)
    hard = harden_function(plain)
    plain.__closure__[0].cell_contents = [1000]
    hard.__globals__["len"] = lambda _: 99
    assert hard(1) == 8


def test_a_name_whose_truth_alone_is_asked_for_is_refused() -> None:
    flag: list[int] = []

    def asks() -> int:
        if flag:
            return 1
        return 2

    with pytest.raises(ValueError, match="as a condition"):
        harden_function(asks)
