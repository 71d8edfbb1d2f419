"""Sandboxes that are started in advance, so that the next one opens at once."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar

from sandbox.errors import SandboxError

MOST = 8
"""Maximum number of hot environments in their surroundings; verification opens each in two. The
least recently requested one is dropped.
"""


class Startable(Protocol):
    """A sandbox in the pool."""

    @property
    def is_alive(self) -> bool:
        """Return True if it can still be used."""
        ...

    def discard(self) -> None:
        """Remove it."""
        ...


Key = TypeVar("Key", bound=Hashable)
Waiting = TypeVar("Waiting", bound=Startable)


async def finish_start(start: Awaitable[Waiting]) -> Waiting:
    """Await a start that cannot be interrupted. After cancellation, its result is discarded.

    Args:
        start: The start of one sandbox.

    Raises:
        SandboxError: The start failed.
    """
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(SandboxError):
            await asyncio.to_thread((await starting).discard)
        raise


class Pool(Generic[Key, Waiting]):
    """Sandboxes in reserve for each environment, replaced after each use.

    Args:
        start: Starts one.
        size: The reserve of each environment; 0 disables the pool.
        idle_s: Seconds without a request after which an environment's reserve is discarded.
    """

    def __init__(
        self, start: Callable[[Key], Awaitable[Waiting]], size: int, idle_s: float
    ) -> None:
        self._start = start
        self._size = size
        self._idle_s = idle_s
        self._waiting: dict[Key, list[Waiting]] = {}
        self._keepers: dict[Key, asyncio.Task[None]] = {}
        self._wanted: dict[Key, asyncio.Event] = {}

    def take(self, key: Key) -> Waiting | None:
        """Return a live sandbox from the reserve, or None."""
        waiting = self._waiting.get(key, [])
        while waiting:
            one = waiting.pop()
            if one.is_alive:
                return one
            one.discard()
        return None

    def keep_hot(self, key: Key) -> None:
        """Keep a reserve for an environment from now on, started in the background."""
        if self._size <= 0:
            return
        keeper = self._keepers.pop(key, None)
        if keeper is None or keeper.done():
            self._wanted[key] = asyncio.Event()
            keeper = asyncio.create_task(self._maintain(key, self._wanted[key]))
        else:
            self._wanted[key].set()
        self._keepers[key] = keeper  # the newest is last
        if len(self._keepers) > MOST:
            self._keepers.pop(next(iter(self._keepers))).cancel()

    async def fill(self, key: Key, count: int) -> None:
        """Start sandboxes until the reserve has `count`.

        Raises:
            SandboxError: A start failed.
        """
        while len(self._waiting.get(key, ())) < count:
            started = await finish_start(self._start(key))
            self._waiting.setdefault(key, []).append(started)

    async def close(self) -> None:
        """Discard the reserve and start no more."""
        keepers, self._keepers = self._keepers, {}
        here = asyncio.get_running_loop()
        for keeper in keepers.values():
            loop = keeper.get_loop()
            if not loop.is_closed():
                # A keeper may belong to another event loop than the current one.
                loop.call_soon_threadsafe(keeper.cancel)
        await asyncio.gather(
            *(k for k in keepers.values() if k.get_loop() is here), return_exceptions=True
        )
        await asyncio.gather(*(self._discard(key) for key in tuple(self._waiting)))

    async def _maintain(self, key: Key, wanted: asyncio.Event) -> None:
        try:
            while True:
                await self.fill(key, self._size)
                wanted.clear()
                async with asyncio.timeout(self._idle_s):
                    await wanted.wait()
        except (SandboxError, TimeoutError):
            # Idle, or the start failed: the next opening will report the reason.
            await self._discard(key)
        except asyncio.CancelledError:
            await asyncio.shield(self._discard(key))
            raise

    async def _discard(self, key: Key) -> None:
        waiting = self._waiting.pop(key, [])
        await asyncio.gather(*(asyncio.to_thread(one.discard) for one in waiting))
