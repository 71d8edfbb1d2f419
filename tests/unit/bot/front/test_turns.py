"""Requests with a body start a few at a time; others do not wait for them."""

import asyncio

import pytest

from bot.front.turns import EACH, Turns

pytestmark = pytest.mark.anyio


async def passes(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def test_a_few_start_in_each_pass_of_the_loop_in_their_order() -> None:
    turns = Turns()
    started: list[int] = []

    async def request(number: int) -> None:
        assert await turns.wait(number)
        started.append(number)

    tasks = [asyncio.create_task(request(number)) for number in range(5 * EACH)]
    seen = []
    while len(started) < len(tasks):
        await passes(1)
        seen.append(len(started))
    assert started == sorted(started)
    most = max(after - before for before, after in zip([0, *seen], seen, strict=False))
    assert most == EACH
    assert len(turns) == 0


async def test_a_dropped_connection_does_not_start() -> None:
    turns = Turns()
    first, second = (asyncio.create_task(turns.wait(name)) for name in ("first", "second"))
    await passes(1)
    turns.drop("first")
    turns.drop("unknown")
    assert [await first, await second] == [False, True]
    turns.drop("second")


async def test_a_cancelled_request_leaves_the_queue() -> None:
    turns = Turns()
    task = asyncio.create_task(turns.wait("one"))
    await passes(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(turns) == 0
    assert await turns.wait("two")
