"""One query at a time, and an error or a cancelled request harms no other request."""

import asyncio

import pytest

from bot.errors import StoreError
from bot.front.shared_query import SharedQuery

pytestmark = pytest.mark.anyio


class Database:
    """Answers when it is released."""

    def __init__(self) -> None:
        self.asked = 0
        self.release = asyncio.Event()
        self.error: StoreError | None = None

    async def ask(self) -> int:
        self.asked += 1
        await self.release.wait()
        if self.error is not None:
            raise self.error
        return self.asked


async def test_concurrent_requests_share_one_run() -> None:
    database = Database()
    query = SharedQuery(database.ask)
    requests = [asyncio.create_task(query.answer()) for _ in range(5)]
    await asyncio.sleep(0)
    database.release.set()
    assert await asyncio.gather(*requests) == [1] * 5
    assert await query.answer() == 2


async def test_a_cancelled_request_leaves_the_run_to_the_others() -> None:
    database = Database()
    query = SharedQuery(database.ask)
    first, second = (asyncio.create_task(query.answer()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    database.release.set()
    assert await second == 1


async def test_an_error_reaches_every_request_and_is_not_kept() -> None:
    database = Database()
    database.error = StoreError("the disk is gone")
    query = SharedQuery(database.ask)
    requests = [asyncio.create_task(query.answer()) for _ in range(3)]
    await asyncio.sleep(0)
    database.release.set()
    ends = await asyncio.gather(*requests, return_exceptions=True)
    assert [type(end) for end in ends] == [StoreError] * 3
    database.error = None
    assert await query.answer() == 2
