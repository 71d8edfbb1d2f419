"""One budget for all bodies: the largest gives way, the small ones pass, and nothing is left charged."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from bot.errors import DeliveryRejected
from bot.front.bodies import PART_OVERHEAD, READ_BYTES, Bodies

pytestmark = pytest.mark.anyio
KIB = 1024
BUDGET = 1024 * KIB


class Sender:
    """A body that arrives part by part, as the test says."""

    def __init__(self, bodies: Bodies, length: str | None = None) -> None:
        self.bodies = bodies
        self.length = length
        self.received = b""
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.task = asyncio.create_task(self._receive())

    async def send(self, *parts: bytes | None) -> None:
        for part in parts:
            self._parts.put_nowait(part)
            for _ in range(5):
                await asyncio.sleep(0)

    async def _receive(self) -> int:
        def keep(part: bytes) -> None:
            self.received += part

        with self.bodies.open(self.length) as body:
            await self.bodies.read(body, self._stream(), keep)
            assert b"".join(body.parts) == self.received
            return body.size

    async def _stream(self) -> AsyncIterator[bytes]:
        while (part := await self._parts.get()) is not None:
            yield part


async def refused(sender: Sender) -> int:
    with pytest.raises(DeliveryRejected) as error:
        await sender.task
    return error.value.status


async def test_bodies_within_the_budget_arrive_whole_and_leave_nothing_charged() -> None:
    bodies = Bodies(BUDGET, most=BUDGET, within_s=60)
    senders = [Sender(bodies) for _ in range(8)]
    for sender in senders:
        await sender.send(b"a" * 5, b"", b"b" * 7)
    assert bodies.used_bytes == 8 * (READ_BYTES + 12 + 2 * PART_OVERHEAD)
    for sender in senders:
        await sender.send(None)
    assert await asyncio.gather(*(sender.task for sender in senders)) == [12] * 8
    assert bodies.used_bytes == 0


async def test_the_largest_unfinished_body_gives_way_to_smaller_ones() -> None:
    bodies = Bodies(BUDGET, most=BUDGET, within_s=60)
    large, other = Sender(bodies), Sender(bodies)
    await large.send(b"x" * 600 * KIB)
    await other.send(b"x" * 200 * KIB)
    small = Sender(bodies, "100000")
    await small.send(b"y" * 100_000, None)
    assert await small.task == 100_000
    assert await refused(large) == 503
    await other.send(None)
    assert await other.task == 200 * KIB
    assert bodies.used_bytes == 0


async def test_a_body_that_is_itself_the_largest_is_refused() -> None:
    bodies = Bodies(BUDGET, most=BUDGET, within_s=60)
    small, large = Sender(bodies), Sender(bodies)
    await small.send(b"s" * 300 * KIB)
    await large.send(b"x" * 500 * KIB, b"x" * 200 * KIB)
    assert await refused(large) == 503
    await small.send(None)
    assert await small.task == 300 * KIB


@pytest.mark.parametrize("size", [1, 100, 65_536])
async def test_a_flood_of_any_part_size_stays_within_the_budget_and_small_bodies_pass(
    size: int,
) -> None:
    bodies = Bodies(BUDGET, most=BUDGET, within_s=60)
    flood = [Sender(bodies) for _ in range(40)]
    worst = 0
    for _ in range(3_000_000 // size // 40 if size > 1 else 300):
        for sender in flood:
            if not sender.task.done():
                await sender.send(b"x" * size)
            worst = max(worst, bodies.used_bytes)
    honest = Sender(bodies, "20000")
    await honest.send(b"h" * 20_000, None)
    assert await honest.task == 20_000
    assert READ_BYTES * 10 < worst <= BUDGET
    for sender in flood:
        sender.task.cancel()
    await asyncio.gather(*(sender.task for sender in flood), return_exceptions=True)
    assert bodies.used_bytes == 0


async def test_bytes_one_by_one_are_charged_for_what_they_take() -> None:
    bodies = Bodies(BUDGET, most=BUDGET, within_s=60)
    sender = Sender(bodies)
    await sender.send(*[b"x"] * 100)
    assert bodies.used_bytes == READ_BYTES + 100 * (1 + PART_OVERHEAD)
    await sender.send(None)
    assert await sender.task == 100


@pytest.mark.parametrize("length", ["1001", "9" * 10_000])
async def test_a_body_declared_too_large_is_refused_before_it_is_read(length: str) -> None:
    bodies = Bodies(BUDGET, most=1000, within_s=60)
    assert await refused(Sender(bodies, length)) == 413
    assert bodies.used_bytes == 0


@pytest.mark.parametrize("length", [None, "5", "-1", "+5", "0x5", "²"])
async def test_a_body_that_turns_out_too_large_is_refused_whatever_its_header_said(
    length: str | None,
) -> None:
    bodies = Bodies(BUDGET, most=1000, within_s=60)
    sender = Sender(bodies, length)
    await sender.send(b"x" * 999, b"x" * 2)
    assert await refused(sender) == 413
    assert bodies.used_bytes == 0


async def test_a_body_that_does_not_arrive_in_time_is_refused() -> None:
    bodies = Bodies(BUDGET, most=1000, within_s=0.05)
    sender = Sender(bodies)
    await sender.send(b"x")
    assert await refused(sender) == 408
    assert bodies.used_bytes == 0


async def test_a_body_that_is_read_is_no_longer_displaced() -> None:
    bodies = Bodies(BUDGET, most=BUDGET, within_s=60)

    async def parts() -> AsyncIterator[bytes]:
        yield b"x" * 900 * KIB

    with bodies.open(None) as body:
        await bodies.read(body, parts(), lambda _: None)
        late = Sender(bodies)
        await late.send(b"y" * 200 * KIB)
        assert await refused(late) == 503
        assert body.size == 900 * KIB
    assert bodies.used_bytes == 0
