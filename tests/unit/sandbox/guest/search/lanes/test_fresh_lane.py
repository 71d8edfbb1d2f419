"""The fresh lane: how many trials are under way at a time, by whether they share a checkout they can write."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.guest.search.lanes.fresh import FreshLane, Suite


class Zygote:
    """Notes what it is asked for, and answers what it is told to."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, bool]] = []
        self.answers: list[int] = []

    def send(self, message: dict[str, Any]) -> bool:
        self.sent.append((message["id"], "end" in message))
        return True

    def next(self, _wait_s: float) -> dict[str, Any] | None:
        return {"id": self.answers.pop(0), "answer": {"outcome": "fail"}} if self.answers else None


def lane(fork_server: Any, root: Path, *, guards_tree: bool) -> FreshLane:
    return FreshLane(fork_server, Suite(str(root), ("test_a",), (), {}, 1.0, 1.0, guards_tree), 1)


def asked(fork_server: Zygote) -> list[int]:
    return [number for number, ended in fork_server.sent if not ended]


def test_trials_that_cannot_write_into_the_checkout_run_beside_each_other(tmp_path: Path) -> None:
    fork_server = Zygote()
    fresh = lane(fork_server, tmp_path, guards_tree=True)
    for _ in range(3):
        fresh.quick_no_op({})
    assert asked(fork_server) == [1, 2, 3]


def test_those_that_can_wait_for_each_other(tmp_path: Path) -> None:
    fork_server = Zygote()
    fresh = lane(fork_server, tmp_path, guards_tree=False)
    first, second, third = [fresh.quick_no_op({}) for _ in range(3)]
    assert asked(fork_server) == [first]
    fork_server.answers = [first]
    assert fresh.wait(second, 0.0) is None
    assert asked(fork_server) == [first, second]
    fork_server.answers = [second, third]
    assert fresh.wait(third, 1.0) == {"outcome": "fail"}
    assert fresh.wait(first, 0.0) == fresh.wait(second, 0.0) == {"outcome": "fail"}
    assert asked(fork_server) == [first, second, third]


@pytest.mark.parametrize("late", [False, True])
def test_who_is_not_waited_for_keeps_nobody_waiting(tmp_path: Path, *, late: bool) -> None:
    fork_server = Zygote()
    fresh = lane(fork_server, tmp_path, guards_tree=False)
    first, second, third = [fresh.quick_no_op({}) for _ in range(3)]
    fresh.end(second)
    fresh.end(first)
    assert fork_server.sent == [(first, False), (first, True), (third, False)]
    fork_server.answers = [first, third] if late else [third]
    assert fresh.wait(third, 1.0) == {"outcome": "fail"}
