"""JSON lines between our own processes, over pipes that candidates cannot access."""

from __future__ import annotations

import fcntl
import json
import os
import select
import time
from typing import Any, Dict, Optional, Tuple

OURS = 420
"""Lowest number of our pipe ends, so that a child can close all of them at once."""


def move_high(descriptor: int) -> int:
    """Move a descriptor to a high number, if the limits allow it."""
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, OURS)
    except OSError:
        return descriptor
    os.close(descriptor)
    return moved


def connect() -> Tuple[PipeLink, PipeLink]:
    """Return the two ends of a new connection."""
    (first_in, second_out), (second_in, first_out) = os.pipe(), os.pipe()
    return PipeLink(move_high(first_in), move_high(first_out)), PipeLink(
        move_high(second_in), move_high(second_out)
    )


class PipeLink:
    """One end of a connection.

    Args:
        incoming: The descriptor to read from.
        outgoing: The descriptor to write to.
    """

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._in = incoming
        self._out = outgoing
        self._buffer = b""
        self.closed = False

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._in

    def send(self, message: Dict[str, Any]) -> bool:
        """Write one message; return False if the other end is closed.

        Incoming data is read meanwhile, so that two ends that both write cannot deadlock.
        """
        data = json.dumps(message).encode("ascii") + b"\n"
        hearing = [self._in]
        try:
            while data:
                arrived, free, _ = select.select(hearing, [self._out], [])
                if arrived and not self._read():
                    hearing = []
                if free:  # a pipe that is ready takes PIPE_BUF bytes without blocking
                    data = data[os.write(self._out, data[: select.PIPE_BUF]) :]
        except OSError:
            self.closed = True
        return not self.closed

    def next(self, wait_s: Optional[float]) -> Optional[Dict[str, Any]]:
        """Return the next message, or None after the timeout.

        None is also returned when the other end is closed (`closed`).
        """
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
        """Read what has arrived; return False at the end of the stream."""
        data = os.read(self._in, 1 << 16)
        self._buffer += data
        return bool(data)

    @property
    def waiting(self) -> bool:
        """True if a complete message is buffered."""
        return b"\n" in self._buffer

    def close(self) -> None:
        """Close this end in this process."""
        self.closed = True
        for descriptor in (self._in, self._out):
            os.close(descriptor)
