"""Parse the first TLS message and extract its server name. Any other message is refused."""

import asyncio
from typing import NamedTuple

from sandbox.egress.refused import EgressRefused

HANDSHAKE, CLIENT_HELLO, TLS_MAJOR = 22, 1, 3
RECORD_HEADER, MESSAGE_HEADER = 5, 4
MAX_RECORD = 16_384
MAX_HELLO = 32_768
MAX_RECORDS = 64
RANDOM = 32
SERVER_NAME, ENCRYPTED_HELLO = 0, 0xFE0D
HOST_NAME = 0


class ClientHello(NamedTuple):
    """A ClientHello: all bytes that were read, and the server name."""

    raw: bytes
    server: str | None


class _Cursor:
    """Reader for the fields of a message. Reading past the end is refused."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise EgressRefused("the TLS message is malformed")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def block(self, width: int) -> "_Cursor":
        """Return a field with a length prefix."""
        return _Cursor(self.take(self.number(width)))


async def read_hello(reader: asyncio.StreamReader) -> ClientHello:
    """Read one ClientHello from any number of records.

    Raises:
        Refused: The message is not a ClientHello.
        asyncio.IncompleteReadError: The peer closed the connection.
    """
    raw, message = bytearray(), bytearray()
    for _ in range(MAX_RECORDS):
        header = await reader.readexactly(RECORD_HEADER)
        length = int.from_bytes(header[3:], "big")
        # On the wire, every TLS version has the major number 3.
        if header[0] != HANDSHAKE or header[1] != TLS_MAJOR or not 0 < length <= MAX_RECORD:
            raise EgressRefused("the message is not TLS")
        body = await reader.readexactly(length)
        raw += header + body
        message += body
        wanted = _message_length(message)
        if wanted is not None and len(message) >= wanted:
            if len(message) > wanted:
                raise EgressRefused("the TLS message is malformed")
            return ClientHello(bytes(raw), server_name(bytes(message[MESSAGE_HEADER:])))
    raise EgressRefused("the TLS ClientHello has too many records")


def _message_length(message: bytearray) -> int | None:
    """Return the length in the message's header; None if it is not complete yet."""
    if message[0] != CLIENT_HELLO:
        raise EgressRefused("the message is not a TLS ClientHello")
    if len(message) < MESSAGE_HEADER:
        return None
    length = MESSAGE_HEADER + int.from_bytes(message[1:MESSAGE_HEADER], "big")
    if length > MAX_HELLO:
        raise EgressRefused("the TLS ClientHello is too long")
    return length


def server_name(body: bytes) -> str | None:
    """Return the server name of a ClientHello; None if there is none.

    Args:
        body: The message without its header.

    Raises:
        Refused: It is malformed, has several names, or encrypts its name.
    """
    fields = _Cursor(body)
    fields.take(2 + RANDOM)
    for width in (1, 2, 1):  # session, ciphers, compressions
        fields.block(width)
    if not fields.left:
        return None
    extensions = fields.block(2)
    if fields.left:
        raise EgressRefused("the TLS message is malformed")
    found: dict[int, _Cursor] = {}
    while extensions.left:
        kind, content = extensions.number(2), extensions.block(2)
        # No extension may occur twice (RFC 8446, section 4.2).
        if kind in found:
            raise EgressRefused("the TLS message is malformed")
        found[kind] = content
    # With an encrypted ClientHello, the visible name may differ from the real one.
    if ENCRYPTED_HELLO in found:
        raise EgressRefused("the server's name is encrypted")
    return _single_name(found[SERVER_NAME]) if SERVER_NAME in found else None


def _single_name(extension: _Cursor) -> str:
    names = extension.block(2)
    kind, name = names.number(1), names.block(2)
    if extension.left or names.left or kind != HOST_NAME:
        raise EgressRefused("the TLS message is malformed")
    try:
        return name.take(name.left).decode("ascii").lower()
    except UnicodeDecodeError as error:
        raise EgressRefused("the TLS message is malformed") from error
