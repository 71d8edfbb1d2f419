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
        """Write one message; False when nobody reads any more.

        What arrives meanwhile is read: two ends that both wait to be read would wait for ever.
        """
        data = json.dumps(message).encode("ascii") + b"\n"
        hearing = [self._in]
        try:
            while data:
                arrived, free, _ = select.select(hearing, [self._out], [])
                if arrived and not self._read():
                    hearing = []
                if free:  # so much is taken at once by a pipe that takes anything
                    data = data[os.write(self._out, data[: select.PIPE_BUF]) :]
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
            if not self._read():
                self.closed = True
                return None
        line, self._buffer = self._buffer.split(b"\n", 1)
        message = json.loads(line.decode("utf-8", "replace"))
        return message if isinstance(message, dict) else {}

    def _read(self) -> bool:
        """Take in what has arrived; False when nothing ever will."""
        data = os.read(self._in, 1 << 16)
        self._buffer += data
        return bool(data)

    @property
    def waiting(self) -> bool:
        """Whether a whole message is here already."""
        return b"\n" in self._buffer

    def close(self) -> None:
        """This process has no part in it."""
        self.closed = True
        for descriptor in (self._in, self._out):
            os.close(descriptor)
