"""Verify and parse the signed records of a guest program on the results channel."""

import base64
import binascii
import hmac
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from sandbox.guest.record_channel import START, sign

Record = list[Any]
Sign = Callable[[bytes, str, bytes], str]
"""Returns the digits of a line from the key, the previous line's digits and the JSON."""
MAX_NAMES_BYTES = 48 << 20
_DIGITS = len(START)


def sign_node(key: bytes, previous: str, payload: bytes) -> str:
    """Return the digits as our Node.js programs compute them: no keyed BLAKE2 is there."""
    digits = hmac.new(key, previous.encode("ascii") + payload, "sha256").hexdigest()
    return digits[:_DIGITS]


class RecordsForged(Exception):
    """A line on the channel was not written by our reporter."""


def read_records(data: bytes, key: bytes, sign: Sign = sign) -> Iterator[Record]:
    """Yield the records in order.

    A last line without newline was cut off by the end of the process and is ignored.

    Args:
        data: The channel's bytes.
        key: The run's key.
        sign: The keyed hash of the guest program.

    Raises:
        RecordsForged: A line does not verify: forged, changed, dropped or moved.
    """
    previous = START
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        digits, payload = line[:_DIGITS], line[_DIGITS + 1 :]
        expected = sign(key, previous, payload)
        if not hmac.compare_digest(digits, expected.encode("ascii")):
            raise RecordsForged(
                f"line {number} on the results channel was not written by the reporter"
            )
        previous = expected
        record = _parse(payload)
        if record is not None:
            yield record


def _parse(payload: bytes) -> Record | None:
    try:
        record = json.loads(payload.decode())  # loads() would guess the encoding of bytes
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, list) and record and isinstance(record[0], str) else None


def unpack_names(packed: str) -> tuple[str, ...]:
    """Return the node ids of an `items` record; empty if it is malformed."""
    try:
        # Limit the output, because a small record can inflate to gigabytes.
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(packed, validate=True), MAX_NAMES_BYTES)
        names = json.loads(data)
    except (binascii.Error, zlib.error, ValueError, RecursionError):
        return ()
    if not isinstance(names, list):
        return ()
    return tuple(name for name in names if isinstance(name, str))
