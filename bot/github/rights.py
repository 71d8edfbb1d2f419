"""Revocation of a repository's tokens after its last concurrent use."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from bot.domain.request import RepositoryRef


class Rights:
    """Counts concurrent uses of each repository, per event loop.

    Every event loop has its own tokens; the engine's and the server's are separate.

    Args:
        release: Revokes the tokens that this event loop holds for a repository.
    """

    def __init__(self, release: Callable[[RepositoryRef], Awaitable[None]]) -> None:
        self._release = release
        self._busy: Counter[tuple[asyncio.AbstractEventLoop, int]] = Counter()

    @asynccontextmanager
    async def held(self, repository: RepositoryRef) -> AsyncIterator[None]:
        """Hold the tokens of a repository while the context is open."""
        key = (asyncio.get_running_loop(), repository.id)
        self._busy[key] += 1
        try:
            yield
        finally:
            self._busy[key] -= 1
            # A concurrent step of the same repository still needs the shared tokens.
            if not self._busy[key]:
                del self._busy[key]
                await self._release(repository)
