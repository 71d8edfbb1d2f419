"""Rights in a repository are given back when the last of those who work there is done."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from bot.domain.request import RepositoryRef


class Rights:
    """Who works where, by event loop: each has tokens of its own, and the engine's is not the server's.

    Args:
        release: Gives back every right that this event loop holds for a repository.
    """

    def __init__(self, release: Callable[[RepositoryRef], Awaitable[None]]) -> None:
        self._release = release
        self._busy: Counter[tuple[asyncio.AbstractEventLoop, int]] = Counter()

    @asynccontextmanager
    async def held(self, repository: RepositoryRef) -> AsyncIterator[None]:
        """Work there."""
        key = (asyncio.get_running_loop(), repository.id)
        self._busy[key] += 1
        try:
            yield
        finally:
            self._busy[key] -= 1
            if not self._busy[key]:
                del self._busy[key]
                await self._release(repository)
