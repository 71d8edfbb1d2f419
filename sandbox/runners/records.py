"""Read the signed records a guest program wrote to the results channel; every byte is hostile until it verifies."""

import base64
import binascii
import hmac
import json
import zlib
from collections.abc import Iterator
from typing import Any

from sandbox.guest.record_channel import START, sign

Record = list[Any]
MAX_NAMES_BYTES = 48 << 20
_DIGITS = len(START)


class RecordsForged(Exception):
    """A line on the channel was not written by our reporter."""


def read_records(data: bytes, key: bytes) -> Iterator[Record]:
    """The records, in order.

    A last line without its newline was cut off by the end of the process and is left out.

    Raises:
        RecordsForged: a line does not verify: forged, changed, dropped or moved.
    """
    previous = START
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        digits, payload = line[:_DIGITS], line[_DIGITS + 1 :]
        expected = sign(key, previous, payload)
        if not hmac.compare_digest(digits, expected.encode("ascii")):
            raise RecordsForged(f"line {number} on the results channel was not written by the reporter")
        previous = expected
        record = _parse(payload)
        if record is not None:
            yield record


def _parse(payload: bytes) -> Record | None:
    try:
        record = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, list) and record and isinstance(record[0], str) else None


def unpack_names(packed: str) -> tuple[str, ...]:
    """The node ids of an `items` record; empty when it is not one."""
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(packed, validate=True), MAX_NAMES_BYTES)
        names = json.loads(data)
    except (binascii.Error, zlib.error, ValueError, RecursionError):
        return ()
    if not isinstance(names, list):
        return ()
    return tuple(name for name in names if isinstance(name, str))
