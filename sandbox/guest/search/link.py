"""JSON lines between our own processes, over pipes that no candidate gets to see."""

from __future__ import annotations

import fcntl
import json
import os
import select
import time
from typing import Any, Dict, Optional, Tuple

OURS = 420
"""Our ends have numbers from here on: a child that runs candidates closes all of them at once."""


def high(descriptor: int) -> int:
    """The same end under a high number, where the limits allow it."""
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, OURS)
    except OSError:
        return descriptor
    os.close(descriptor)
    return moved


def pair() -> Tuple[Link, Link]:
    """The two ends of a connection."""
    (first_in, second_out), (second_in, first_out) = os.pipe(), os.pipe()
    return Link(high(first_in), high(first_out)), Link(high(second_in), high(second_out))


class Link:
    """One end.

    Args:
        incoming: Where messages are read.
        outgoing: Where they are written.
    """

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._in = incoming
        self._out = outgoing
        self._buffer = b""
        self.closed = False

    def fileno(self) -> int:
        """What to wait for."""
        return self._in

    def send(self, message: Dict[str, Any]) -> bool:
        """Write one message; False when nobody reads any more."""
        data = json.dumps(message).encode("ascii") + b"\n"
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except OSError:
            self.closed = True
        return not self.closed

    def next(self, wait_s: Optional[float]) -> Optional[Dict[str, Any]]:
        """The next message; None when there is none in time, or never will be (`closed`)."""
        deadline = None if wait_s is None else time.monotonic() + wait_s
        while b"\n" not in self._buffer:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._in], [], [], left)[0]:
                return None
            data = os.read(self._in, 1 << 16)
            if not data:
                self.closed = True
                return None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        message = json.loads(line.decode("utf-8", "replace"))
        return message if isinstance(message, dict) else {}

    @property
    def waiting(self) -> bool:
        """Whether a whole message is here already."""
        return b"\n" in self._buffer

    def close(self) -> None:
        """This process has no part in it."""
        self.closed = True
        for descriptor in (self._in, self._out):
            os.close(descriptor)
