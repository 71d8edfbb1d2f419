"""The order the host gives."""

from typing import Any

import pytest

from sandbox.guest.spawn import CommandOrder

GOOD: dict[str, Any] = {
    "id": 1,
    "argv": ["a"],
    "cwd": "/",
    "env": {},
    "wall": 1,
    "keep": 2,
    "flood": 3,
    "results": 4,
}


def test_a_good_order_is_read() -> None:
    order = CommandOrder.read({**GOOD, "env": {"A": "b"}, "stdin": 7})
    assert (order.argv, order.env, order.stdin, order.wall) == (["a"], {"A": "b"}, 7, 1.0)


@pytest.mark.parametrize(
    "change", [{"argv": []}, {"argv": "a"}, {"argv": [1]}, {"env": None}, {"wall": "x"}]
)
def test_a_broken_order_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        CommandOrder.read({**GOOD, **change})


@pytest.mark.parametrize("name", ["id", "cwd", "wall", "keep", "flood", "results"])
def test_an_order_without_a_field_is_refused(name: str) -> None:
    with pytest.raises(KeyError):
        CommandOrder.read({key: value for key, value in GOOD.items() if key != name})
