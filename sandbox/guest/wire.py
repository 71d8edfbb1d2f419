"""The messages between host and guest: JSON lines, and raw bytes behind a line that announces them."""

import base64
import json
import os
from typing import Any, Dict, List, Optional

PROTOCOL = 1
"""Both ends must speak the same version; the hello message carries it."""

MAX_REQUEST = 64 << 20
"""Longest line the guest reads from the host."""

MAX_MESSAGE = 48 << 20
"""Longest line the host reads from the guest."""

MAX_READ = 24 << 20
"""Largest file that is read in one message."""

CHUNK = 1 << 16
"""How much is read from a pipe at once."""

Message = Dict[str, Any]


class Closed(Exception):
    """The other end is gone."""


def encode(message: Message) -> bytes:
    """One message as one line."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def pack(data: bytes) -> str:
    """Bytes as text that fits into a message."""
    return base64.b64encode(data).decode("ascii")


def unpack(text: str) -> bytes:
    """The bytes `pack` was given.

    Raises:
        ValueError: the text is not what `pack` makes.
    """
    return base64.b64decode(text.encode("ascii"), validate=True)


class Inbox:
    """What the host sends: lines, and raw payloads in between.

    Args:
        fd: The descriptor to read from, blocking.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._buffer = bytearray()
        self._scanned = 0

    def fill(self) -> None:
        """Read once from the descriptor.

        Raises:
            Closed: the host is gone.
        """
        data = os.read(self.fd, CHUNK)
        if not data:
            raise Closed
        self._buffer += data

    def line(self) -> Optional[Message]:
        """The next message that is here in full, or None."""
        end = self._buffer.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._buffer)
            if self._scanned > MAX_REQUEST:
                raise Closed
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._scanned = 0
        message = json.loads(line)
        return message if isinstance(message, dict) else {}

    def next(self) -> Message:
        """Wait for the next message."""
        while True:
            message = self.line()
            if message is not None:
                return message
            self.fill()

    def take(self, limit: int) -> bytes:
        """Up to `limit` raw bytes that are here already, maybe none."""
        data = bytes(self._buffer[:limit])
        del self._buffer[:limit]
        self._scanned = 0
        return data

    def discard(self, count: int) -> None:
        """Throw away `count` raw bytes, waiting for them."""
        while count:
            count -= len(self.take(count))
            if count:
                self.fill()


class Outbox:
    """Where messages to the host are written.

    Args:
        fd: The descriptor to write to, blocking.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def send(self, message: Message) -> None:
        """Write one message in full."""
        view = memoryview(encode(message))
        while view:
            view = view[os.write(self.fd, view) :]


class Kept:
    """The head and the tail of a stream, the middle dropped.

    Args:
        limit: How many bytes are kept in all.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take in the next piece."""
        self.total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._half :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def message(self) -> Message:
        """How it is told to the host."""
        return {"n": self.total, "head": pack(bytes(self._head)), "tail": pack(bytes(self._tail[-self._half :]))}


def strings(value: Any) -> List[str]:
    """A list of strings out of a message.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of strings was expected")
    return value
