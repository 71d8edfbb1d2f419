"""One query at a time for requests that ask the same."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class SharedQuery(Generic[Answer]):
    """A query of which concurrent requests share one run.

    Args:
        ask: Runs the query.
    """

    def __init__(self, ask: Callable[[], Awaitable[Answer]]) -> None:
        self._ask = ask
        self._running: asyncio.Task[Answer] | None = None

    def start(self) -> asyncio.Task[Answer]:
        """Return the active run; start one if there is none."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
            self._running.add_done_callback(_retrieve_error)
        return self._running

    async def answer(self) -> Answer:
        """Return the answer of the active run, or of a new one.

        Raises:
            Exception: the error of the run.
        """
        # One request that is cancelled must not cancel the run of the others.
        return await asyncio.shield(self.start())

    async def _run(self) -> Answer:
        return await self._ask()


def _retrieve_error(task: "asyncio.Task[Answer]") -> None:
    """Mark an error as seen: if every request was cancelled, asyncio would report it as lost."""
    if not task.cancelled():
        task.exception()
