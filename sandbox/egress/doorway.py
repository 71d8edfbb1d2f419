"""The door of a mission's sandbox: one unix socket that a handler of ours serves.

Nothing else is reachable.
"""

import asyncio
import contextlib
import logging
from pathlib import Path

from sandbox.types.errand import Door

log = logging.getLogger(__name__)

EVERYBODY = 0o666
"""Access is restricted by the folder, not by the socket."""
CONNECTIONS = 16
BUFFER = 64 * 1024
"""Maximum size of a request's head, in bytes."""


class Doorway:
    """Listens on a socket and ends every connection when it is closed.

    Args:
        socket: The path of the socket.
        door: The handler of a connection.
    """

    def __init__(self, socket: Path, door: Door) -> None:
        self._socket = socket
        self._door = door
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.AbstractServer | None = None

    async def start(self) -> None:
        """Start to listen.

        Raises:
            OSError: The socket cannot be created.
        """
        self._server = await asyncio.start_unix_server(self._accept, self._socket, limit=BUFFER)
        self._socket.chmod(EVERYBODY)

    async def close(self) -> None:
        """Stop to listen and cancel all connections."""
        if self._server is not None:
            self._server.close()
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= CONNECTIONS:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._on_served)

    def _on_served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("door connection failed", exc_info=error)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, EOFError):
                await self._door(reader, writer)
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        finally:
            writer.transport.abort()
