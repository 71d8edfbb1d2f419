"""The pool keeps a sandbox ready per hot environment, never more than it may, and forgets idle ones."""

import asyncio
from dataclasses import dataclass, field

import pytest

from sandbox.backends.pool import MOST, Pool, finish_start
from sandbox.errors import SandboxUnavailable

pytestmark = pytest.mark.anyio


@dataclass
class Waiter:
    """Something that waits."""

    image: str
    is_alive: bool = True
    discarded: bool = False

    def discard(self) -> None:
        self.discarded = True


@dataclass
class Starter:
    """Starts them."""

    made: list[Waiter] = field(default_factory=list)
    broken: bool = False

    async def __call__(self, image: str) -> Waiter:
        await asyncio.sleep(0)
        if self.broken:
            raise SandboxUnavailable("no daemon")
        self.made.append(Waiter(image))
        return self.made[-1]

    def pool(self, size: int = 1, idle_s: float = 60.0) -> Pool[str, Waiter]:
        return Pool(self, size, idle_s)


async def settled() -> None:
    """Let everything run that waits for nothing: turns of the loop, not time."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_nobody_waits_before_the_environment_is_hot() -> None:
    assert Starter().pool().take("a") is None


async def test_one_waits_after_the_first_opening_and_is_replaced_when_taken() -> None:
    starter = Starter()
    pool = starter.pool()
    pool.keep_hot("a")
    await settled()
    first = pool.take("a")
    assert first is starter.made[0]
    pool.keep_hot("a")
    await settled()
    assert pool.take("a") is starter.made[1]
    await pool.close()


async def test_a_dead_one_is_never_handed_out() -> None:
    starter = Starter()
    pool = starter.pool()
    await pool.fill("a", 2)
    starter.made[1].is_alive = False
    assert pool.take("a") is starter.made[0]
    assert starter.made[1].discarded


async def test_a_pool_of_size_0_starts_nothing() -> None:
    starter = Starter()
    pool = starter.pool(size=0)
    pool.keep_hot("a")
    await settled()
    assert starter.made == []


async def test_an_idle_environment_is_let_go() -> None:
    starter = Starter()
    pool = starter.pool(idle_s=0.01)
    pool.keep_hot("a")
    async with asyncio.timeout(120):
        while not any(one.discarded for one in starter.made):  # noqa: ASYNC110 -- no event
            await asyncio.sleep(0.01)
    assert starter.made[0].discarded
    assert pool.take("a") is None


async def test_too_many_environments_let_the_oldest_go() -> None:
    starter = Starter()
    pool = starter.pool()
    for number in range(MOST + 1):
        pool.keep_hot(f"e{number}")
        await settled()
    await settled()
    assert [one.image for one in starter.made if one.discarded] == ["e0"]
    await pool.close()


async def test_closing_discards_all_and_the_pool_can_be_used_again() -> None:
    starter = Starter()
    pool = starter.pool()
    pool.keep_hot("a")
    await settled()
    await pool.close()
    await settled()
    assert all(one.discarded for one in starter.made)
    pool.keep_hot("a")
    await settled()
    assert pool.take("a") is not None
    await pool.close()


async def test_closing_while_one_starts_loses_nothing() -> None:
    starter = Starter()
    pool = starter.pool()
    pool.keep_hot("a")
    await asyncio.sleep(0)
    await pool.close()
    assert all(one.discarded for one in starter.made)
    assert pool.take("a") is None


async def test_one_that_does_not_start_is_not_the_pools_to_complain_about() -> None:
    pool = Starter(broken=True).pool()
    pool.keep_hot("a")
    await settled()
    assert pool.take("a") is None


@pytest.mark.parametrize("broken", [False, True])
async def test_who_stops_waiting_for_a_start_loses_nothing_and_is_cancelled_all_the_same(
    *, broken: bool
) -> None:
    starter = Starter(broken=broken)
    waiting = asyncio.create_task(finish_start(starter("a")))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert [waiter.discarded for waiter in starter.made] == ([] if broken else [True])
