"""How a test's own function ended is seen from directly around it."""

import asyncio
import inspect
from typing import Any

import pytest

from sandbox.guest.call_witness import ledger, wrap_witness
from sandbox.guest.hardened import harden_function


def witness(function: Any) -> tuple[Any, list[Any]]:
    seen: list[Any] = []
    call = wrap_witness(
        function,
        "item",
        lambda *parts: seen.append(parts),
        lambda item, _, returned: seen.append((item, returned)),
    )
    return call, seen


def test_a_return_and_an_error_are_told_at_once() -> None:
    def double(number: int) -> int:
        """Double."""
        return number * 2

    double.mark = "m"  # type: ignore[attr-defined]
    call, seen = witness(double)
    assert call(4) == 8
    with pytest.raises(TypeError):
        call()
    assert seen == [("item", double), ("item", 1), ("item", double), ("item", 0)]
    assert (call.__name__, call.__doc__, call.mark, inspect.unwrap(call)) == (
        "double",
        "Double.",
        "m",
        double,
    )
    with pytest.raises(TypeError):
        call[0] = None


def test_a_coroutine_function_stays_one() -> None:
    async def double(number: int) -> int:
        return number * 2

    call, seen = witness(double)
    assert inspect.iscoroutinefunction(call)
    assert asyncio.run(call(4)) == 8
    assert seen == [("item", double), ("item", 1)]


def test_what_is_not_simply_called_has_no_witness() -> None:
    def numbers() -> Any:
        yield 1

    assert witness(numbers)[0] is None
    assert witness(None)[0] is None


def test_the_ledger_writes_for_tests_it_knows_only() -> None:
    sent: list[Any] = []
    remember, find_place, ended = ledger(
        lambda record, *, held: sent.append((record, held)), harden_function
    )
    known, unknown = object(), object()
    remember(known, 3, "/a/test_a.py", "test_x")
    assert find_place(known)[:3] == (3, "/a/test_a.py", "test_x")
    assert find_place(unknown) is None
    assert (ended(known, 0), ended(unknown, 1)) == (True, False)
    assert sent == [(["ran", 3, 0], True)]
