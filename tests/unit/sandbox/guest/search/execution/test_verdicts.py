"""Verdicts in shared memory: what a child notes is what we read, and nonsense is no verdict."""

from typing import Any, cast

import pytest

from sandbox.guest.search.execution.verdicts import (
    DIED,
    NEAR,
    Board,
    CpuLimits,
    Trial,
    TrialVerdict,
)


def trials(*failing: tuple[int, ...]) -> list[Trial]:
    return [Trial(cast(Any, None), (), tests, ()) for tests in failing]


@pytest.mark.parametrize(
    "verdict",
    [
        TrialVerdict("fail"),
        TrialVerdict("timeout"),
        TrialVerdict("pass", (3, 40, 7)),
        TrialVerdict(NEAR, (40,)),
    ],
)
def test_a_verdict_is_read_as_it_was_noted(verdict: TrialVerdict) -> None:
    board = Board(trials((3, 40, 7), (3, 40, 7)))
    board.store(1, verdict)
    assert not board.has(0)
    assert board.has(1)
    assert board.get(1) == verdict


def test_what_was_never_noted_died() -> None:
    assert Board(trials((1,))).get(0) == TrialVerdict(DIED)


def test_a_pass_that_mends_nothing_is_nonsense() -> None:
    board = Board(trials((1, 2)))
    board.store(0, TrialVerdict("pass", (9,)))
    assert board.get(0) == TrialVerdict(DIED)


def test_whose_turn_it_is_is_known_and_that_something_happens() -> None:
    board = Board(trials((1,), (2,)))
    board.begin(1)
    board.begin(0)
    assert (board.current(), board.beat()) == (0, 2)


def test_many_failing_tests_have_room() -> None:
    many = tuple(range(300))
    board = Board(trials(many, ()))
    board.store(0, TrialVerdict("pass", many))
    board.store(1, TrialVerdict("fail"))
    assert board.get(0).fixed == many
    assert board.get(1) == TrialVerdict("fail")


def test_limits_are_stretched_at_least_so_far_and_never_twice() -> None:
    limits = CpuLimits({1: 0.2}, 0.5)
    assert [limits.of(1, 1.0), limits.of(2, 1.0), limits.of(2, 10.0)] == [0.2, 0.5, 5.0]
    stretched = limits._replace(known={}, stretched=10.0)
    assert [stretched.of(1, 1.0), stretched.of(2, 2.0), stretched.of(2, 10.0)] == [5.0, 5.0, 5.0]
