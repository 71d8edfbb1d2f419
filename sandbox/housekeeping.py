"""Clean-up in the background: what backends keep for the next time stays within its limits."""

import asyncio
import logging

from sandbox.backends.base import Backend
from sandbox.errors import SandboxError

log = logging.getLogger(__name__)


class Housekeeping:
    """Cleans up once at the start, and after each environment that is added.

    Args:
        backend: What is cleaned up.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._task: asyncio.Task[None] | None = None

    def begin(self, *, added: bool) -> None:
        """Clean up in the background, unless nothing was added since the last time.

        Args:
            added: Whether an environment was.
        """
        last = self._task
        if last is None or (added and (last.done() or last.get_loop().is_closed())):
            self._task = asyncio.create_task(self._clean())

    async def end(self) -> None:
        """Wait for what is under way."""
        task = self._task
        if task is not None and task.get_loop() is asyncio.get_running_loop():
            await asyncio.wait({task})

    async def _clean(self) -> None:
        try:
            await self._backend.prune()
        except (SandboxError, OSError) as error:  # somebody else may be cleaning up the same things
            log.info("no clean-up: %s", error)
