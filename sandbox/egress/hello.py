"""Reads the first message of TLS and finds the server it names; what is not exactly such a message is refused."""

import asyncio
from typing import NamedTuple

from sandbox.egress.refused import Refused

HANDSHAKE, CLIENT_HELLO = 22, 1
RECORD_HEADER, MESSAGE_HEADER = 5, 4
MAX_RECORD = 16_384
MAX_HELLO = 32_768
MAX_RECORDS = 64
RANDOM = 32
SERVER_NAME, ENCRYPTED_HELLO = 0, 0xFE0D
HOST_NAME = 0


class Hello(NamedTuple):
    """A ClientHello: every byte that was read, and the server it names."""

    raw: bytes
    server: str | None


class _Cursor:
    """Reads fields of a message; whoever reads past its end is refused."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise Refused("no proper TLS")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def block(self, width: int) -> "_Cursor":
        """A field that says its own length."""
        return _Cursor(self.take(self.number(width)))


async def read_hello(reader: asyncio.StreamReader) -> Hello:
    """Read one ClientHello, in however many records it comes.

    Raises:
        Refused: something else came.
        asyncio.IncompleteReadError: the other side hung up.
    """
    raw, message = bytearray(), bytearray()
    for _ in range(MAX_RECORDS):
        header = await reader.readexactly(RECORD_HEADER)
        length = int.from_bytes(header[3:], "big")
        if header[0] != HANDSHAKE or header[1] != 3 or not 0 < length <= MAX_RECORD:  # noqa: PLR2004 (TLS is 3.x)
            raise Refused("no TLS")
        body = await reader.readexactly(length)
        raw += header + body
        message += body
        wanted = _wanted(message)
        if wanted is not None and len(message) >= wanted:
            if len(message) > wanted:
                raise Refused("no proper TLS")
            return Hello(bytes(raw), server_name(bytes(message[MESSAGE_HEADER:])))
    raise Refused("a TLS greeting in too many pieces")


def _wanted(message: bytearray) -> int | None:
    """How long the message says it is; None while that is unknown."""
    if message[0] != CLIENT_HELLO:
        raise Refused("no TLS greeting")
    if len(message) < MESSAGE_HEADER:
        return None
    length = MESSAGE_HEADER + int.from_bytes(message[1:MESSAGE_HEADER], "big")
    if length > MAX_HELLO:
        raise Refused("a TLS greeting that is too long")
    return length


def server_name(body: bytes) -> str | None:
    """The server that a ClientHello names; None when it names none.

    Args:
        body: The message without its header.

    Raises:
        Refused: it is malformed, names several, or hides whom it means.
    """
    fields = _Cursor(body)
    fields.take(2 + RANDOM)
    for width in (1, 2, 1):  # session, ciphers, compressions
        fields.block(width)
    if not fields.left:
        return None
    extensions = fields.block(2)
    if fields.left:
        raise Refused("no proper TLS")
    found: dict[int, _Cursor] = {}
    while extensions.left:
        kind, content = extensions.number(2), extensions.block(2)
        if kind in found:
            raise Refused("no proper TLS")
        found[kind] = content
    if ENCRYPTED_HELLO in found:
        raise Refused("the server's name is encrypted")
    return _single_name(found[SERVER_NAME]) if SERVER_NAME in found else None


def _single_name(extension: _Cursor) -> str:
    names = extension.block(2)
    kind, name = names.number(1), names.block(2)
    if extension.left or names.left or kind != HOST_NAME:
        raise Refused("no proper TLS")
    try:
        return name.take(name.left).decode("ascii").lower()
    except UnicodeDecodeError as error:
        raise Refused("no proper TLS") from error
