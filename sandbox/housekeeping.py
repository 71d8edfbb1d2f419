"""Background cleanup that keeps a backend's cached environments within their limits."""

import asyncio
import logging

from sandbox.backends.base import Backend
from sandbox.errors import SandboxError

log = logging.getLogger(__name__)


class Housekeeping:
    """Run the cleanup once at the start and after each new environment.

    Args:
        backend: The backend to clean up.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._task: asyncio.Task[None] | None = None

    def begin(self, *, added: bool) -> None:
        """Start the cleanup in the background, unless nothing was added since the last run.

        Args:
            added: Whether an environment was added.
        """
        last = self._task
        if last is None or (added and (last.done() or last.get_loop().is_closed())):
            self._task = asyncio.create_task(self._clean())

    async def end(self) -> None:
        """Wait for the running cleanup."""
        task = self._task
        if task is not None and task.get_loop() is asyncio.get_running_loop():
            await asyncio.wait({task})

    async def _clean(self) -> None:
        try:
            await self._backend.prune()
        # another process may be removing the same environments
        except (SandboxError, OSError) as error:
            log.info("environment cleanup failed: %s", error)
