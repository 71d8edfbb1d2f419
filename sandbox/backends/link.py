"""The line to a supervisor: bytes in, bytes out, and lines of bounded length made from them."""

import asyncio
import socket
from typing import Protocol

from sandbox.errors import SandboxDied
from sandbox.guest import wire

READ_BYTES = 1 << 16


class Link(Protocol):
    """Bytes to and from one supervisor."""

    async def receive(self) -> bytes:
        """The next bytes it sent; empty when it is gone."""
        ...

    async def send(self, data: bytes) -> None:
        """Hand over all of `data`."""
        ...

    async def close(self) -> None:
        """Hang up; the supervisor ends everything when it notices."""
        ...


class SocketLink:
    """A link over a connected stream socket.

    Args:
        reader: Where bytes come from.
        writer: Where bytes go.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, connection: socket.socket) -> "SocketLink":
        """Take over a connected socket."""
        connection.settimeout(0)
        reader, writer = await asyncio.open_connection(sock=connection)
        return cls(reader, writer)

    async def receive(self) -> bytes:
        """The next bytes; empty at the end."""
        try:
            return await self._reader.read(READ_BYTES)
        except OSError:
            return b""

    async def send(self, data: bytes) -> None:
        """Write all of it.

        Raises:
            SandboxDied: nobody is there to read.
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
    """Lines out of a link.

    Args:
        link: Where the bytes come from.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._buffer = bytearray()
        self._scanned = 0

    async def next(self) -> bytes:
        """The next line, without its end.

        Raises:
            SandboxDied: the supervisor is gone, or the line is too long.
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
