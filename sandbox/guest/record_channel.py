"""The records that leave the sandbox on file descriptor 3: JSON lines, each signed over all lines before it.

A line is `<12 hex digits> <JSON list>`. The digits are a keyed hash of the previous line's digits and this line's JSON:
a line that was forged, changed, dropped or moved does not verify. The key never is in the environment or on a command
line. (Code in the same process can still dig it out of memory; the judge has other checks for that.)
"""

import hashlib
import json
import os
from typing import Any, List

START = "0" * 12
ESSENTIAL_BYTES = 3900000
DETAIL_BYTES = 2300000


def sign(key: bytes, previous: str, payload: bytes) -> str:
    """The digits in front of `payload` (bytes) when `previous` (str) stood in front of the line before."""
    return hashlib.blake2b(previous.encode("ascii") + payload, key=key, digest_size=6).hexdigest()


class Channel:
    """Writes records; survives tests that fork, and stays below the capacity of the channel.

    Args:
        descriptor: Where to write; moved away from its number, so that a test does not hit it by chance.
        key: Signs the lines.
    """

    def __init__(self, descriptor: int, key: bytes) -> None:
        # References of our own: a test may replace functions in modules.
        self._write = os.write
        self._getpid = os.getpid
        self._dumps = json.dumps
        self._sign = sign
        self._key = key
        self._pid = os.getpid()
        self._digits = START
        self._written = 0
        self._held = b""
        self._descriptor = os.dup(descriptor)
        os.close(descriptor)

    def send(self, record: List[Any], *, detail: bool = False, held: bool = False) -> bool:
        """Write one record; returns whether there was room.

        Args:
            record: What to tell.
            detail: It is left out when there were many already.
            held: It may wait for the next record that may not: fewer, larger writes.
        """
        if self._getpid() != self._pid or self._descriptor < 0:
            return False
        payload = self._dumps(record, separators=(",", ":")).encode("ascii")
        if self._written + len(payload) > (DETAIL_BYTES if detail else ESSENTIAL_BYTES):
            return False
        self._digits = self._sign(self._key, self._digits, payload)
        line = self._digits.encode("ascii") + b" " + payload + b"\n"
        self._written += len(line)
        self._held += line
        if held:
            return True
        line, self._held = self._held, b""
        try:
            while line:
                line = line[self._write(self._descriptor, line) :]
        except OSError:
            self._descriptor = -1
            return False
        return True

    def close(self) -> None:
        """No record follows."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
