"""The connection to a supervisor: bytes in both directions, and lines of limited length."""

import asyncio
import socket
from typing import Protocol

from sandbox.errors import SandboxDied
from sandbox.guest import wire

READ_BYTES = 1 << 16


class Link(Protocol):
    """A byte connection to one supervisor."""

    async def receive(self) -> bytes:
        """Return the next bytes; empty at the end."""
        ...

    async def send(self, data: bytes) -> None:
        """Send all of `data`."""
        ...

    async def close(self) -> None:
        """Close the connection. The supervisor then kills everything."""
        ...


class SocketLink:
    """A link over a connected stream socket.

    Args:
        reader: The incoming bytes.
        writer: The outgoing bytes.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, connection: socket.socket) -> "SocketLink":
        """Create a link from a connected socket."""
        connection.settimeout(0)
        reader, writer = await asyncio.open_connection(sock=connection)
        return cls(reader, writer)

    async def receive(self) -> bytes:
        """Return the next bytes; empty at the end."""
        try:
            return await self._reader.read(READ_BYTES)
        except OSError:
            return b""

    async def send(self, data: bytes) -> None:
        """Send all of the data.

        Raises:
            SandboxDied: The peer is gone.
        """
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise SandboxDied("The sandbox went away.") from error

    async def close(self) -> None:
        """Close the socket."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            return


class Lines:
    """Line reader of a link.

    Args:
        link: The source of the bytes.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._buffer = bytearray()
        self._scanned = 0

    async def next(self) -> bytes:
        """Return the next line without its newline.

        Raises:
            SandboxDied: The supervisor is gone, or the line is too long.
        """
        while True:
            end = self._buffer.find(b"\n", self._scanned)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._scanned = 0
                return line
            self._scanned = len(self._buffer)
            if self._scanned > wire.MAX_MESSAGE:
                raise SandboxDied("The sandbox sent more than a message may hold.")
            data = await self._link.receive()
            if not data:
                raise SandboxDied("The sandbox went away.")
            self._buffer += data
