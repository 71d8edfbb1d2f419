"""Messages between host and guest: JSON lines, and raw bytes after a line that announces them."""

import base64
import json
import os
from typing import Any, Dict, List, Optional

PROTOCOL = 1
"""Both ends must use the same version; the hello message contains it."""

MAX_REQUEST = 64 << 20
"""Maximum line length that the guest reads from the host."""

MAX_MESSAGE = 48 << 20
"""Maximum line length that the host reads from the guest."""

MAX_READ = 24 << 20
"""Maximum size of a file in one message."""

CHUNK = 1 << 16
"""Number of bytes to read from a pipe at once."""

Message = Dict[str, Any]


class Closed(Exception):
    """The other end is gone."""


def encode(message: Message) -> bytes:
    """Encode one message as one line."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def pack(data: bytes) -> str:
    """Encode bytes as text for a message."""
    return base64.b64encode(data).decode("ascii")


def unpack(text: str) -> bytes:
    """Decode the bytes of `pack`.

    Raises:
        ValueError: The text is not a result of `pack`.
    """
    return base64.b64decode(text.encode("ascii"), validate=True)


class MessageReader:
    """The host's messages: lines, and raw payloads in between.

    Args:
        fd: The blocking descriptor to read from.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._buffer = bytearray()
        self._scanned = 0

    def fill(self) -> None:
        """Read once from the descriptor.

        Raises:
            Closed: The host is gone.
        """
        data = os.read(self.fd, CHUNK)
        if not data:
            raise Closed
        self._buffer += data

    def line(self) -> Optional[Message]:
        """Return the next complete message in the buffer, or None."""
        # Start where the last search ended, or long lines take quadratic time.
        end = self._buffer.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._buffer)
            # No request is this long, and memory must stay bounded.
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
        """Return up to `limit` raw bytes from the buffer, possibly none."""
        data = bytes(self._buffer[:limit])
        del self._buffer[:limit]
        self._scanned = 0
        return data

    def discard(self, count: int) -> None:
        """Discard `count` raw bytes, waiting for them."""
        while count:
            count -= len(self.take(count))
            if count:
                self.fill()


class MessageWriter:
    """Messages to the host.

    Args:
        fd: The blocking descriptor to write to.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def send(self, message: Message) -> None:
        """Write one complete message."""
        view = memoryview(encode(message))
        while view:
            # A write may be partial, also on a blocking pipe if a signal arrives.
            view = view[os.write(self.fd, view) :]


class HeadAndTail:
    """The head and the tail of a stream, without the middle.

    Args:
        limit: Maximum number of bytes to keep.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Add the next piece."""
        self.total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        # The tail may grow to twice its size, so that the middle is cut off rarely.
        self._tail += data[-self._half :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def message(self) -> Message:
        """Return the message for the host."""
        return {
            "n": self.total,
            "head": pack(bytes(self._head)),
            "tail": pack(bytes(self._tail[-self._half :])),
        }


def strings(value: Any) -> List[str]:
    """Return a list of strings from a message.

    Raises:
        ValueError: The value is something else.
    """
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of strings was expected")
    return value
