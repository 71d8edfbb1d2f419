"""Sandboxes started before they are asked for: the next one on a hot environment opens at once."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from sandbox.errors import SandboxError

MOST = 4
"""Environments that are kept hot; the one asked for least recently gives way."""


class Startable(Protocol):
    """A sandbox that waits."""

    @property
    def is_alive(self) -> bool:
        """Whether it can still be used."""
        ...

    def discard(self) -> None:
        """Nobody wants it."""
        ...


Waiting = TypeVar("Waiting", bound=Startable)


async def whole(start: Awaitable[Waiting]) -> Waiting:
    """A start cannot be stopped half way: what comes of it when nobody waits any more is discarded.

    Args:
        start: Starts one.

    Raises:
        SandboxError: it did not start.
    """
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(SandboxError):
            await asyncio.to_thread((await starting).discard)
        raise


class Pool(Generic[Waiting]):
    """Waiting sandboxes per environment, replaced after each one taken.

    Args:
        start: Starts one.
        size: How many wait per environment; 0 switches the pool off.
        idle_s: Those of an environment that nobody asked for so long are discarded.
    """

    def __init__(self, start: Callable[[str], Awaitable[Waiting]], size: int, idle_s: float) -> None:
        self._start = start
        self._size = size
        self._idle_s = idle_s
        self._waiting: dict[str, list[Waiting]] = {}
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self._wanted: dict[str, asyncio.Event] = {}

    def take(self, image: str) -> Waiting | None:
        """One that waits and still lives, or None."""
        waiting = self._waiting.get(image, [])
        while waiting:
            one = waiting.pop()
            if one.is_alive:
                return one
            one.discard()
        return None

    def keep_hot(self, image: str) -> None:
        """From now on somebody waits for the next who asks; started in the background."""
        if self._size <= 0:
            return
        keeper = self._keepers.pop(image, None)
        if keeper is None or keeper.done():
            self._wanted[image] = asyncio.Event()
            keeper = asyncio.create_task(self._keep(image, self._wanted[image]))
        else:
            self._wanted[image].set()
        self._keepers[image] = keeper  # the newest stands last
        if len(self._keepers) > MOST:
            self._keepers.pop(next(iter(self._keepers))).cancel()

    async def fill(self, image: str, count: int) -> None:
        """Start until `count` wait.

        Raises:
            SandboxError: one did not start.
        """
        while len(self._waiting.get(image, ())) < count:
            started = await whole(self._start(image))
            self._waiting.setdefault(image, []).append(started)

    async def close(self) -> None:
        """Discard all that wait, and start no more."""
        keepers, self._keepers = self._keepers, {}
        here = asyncio.get_running_loop()
        for keeper in keepers.values():
            loop = keeper.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(keeper.cancel)
        await asyncio.gather(*(k for k in keepers.values() if k.get_loop() is here), return_exceptions=True)
        await asyncio.gather(*(self._discard(image) for image in tuple(self._waiting)))

    async def _keep(self, image: str, wanted: asyncio.Event) -> None:
        try:
            while True:
                await self.fill(image, self._size)
                wanted.clear()
                async with asyncio.timeout(self._idle_s):
                    await wanted.wait()
        except (SandboxError, TimeoutError):
            # Idle for long, or not to be started: whoever opens the next one is told why.
            await self._discard(image)
        except asyncio.CancelledError:
            await asyncio.shield(self._discard(image))
            raise

    async def _discard(self, image: str) -> None:
        waiting = self._waiting.pop(image, [])
        await asyncio.gather(*(asyncio.to_thread(one.discard) for one in waiting))
