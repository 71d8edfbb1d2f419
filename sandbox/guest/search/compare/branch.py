"""A fork of a fork that stays in its parent's process group and is killed with it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from typing import Any, Callable, List

from sandbox.guest.search.process.limits import Limiter, fork

MOST_BYTES = 8 << 20


def branch(work: Callable[[Limiter], Any], wait_s: float) -> Any:
    """Return the JSON result of `work` from a fork; None if it dies, hangs or writes too much."""
    read, write = os.pipe()
    pid = fork()
    if pid == 0:
        _inside(work, write)
    os.close(write)
    try:
        data = _read(read, time.monotonic() + wait_s)
    finally:
        os.close(read)
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(pid, 0)
    try:
        return json.loads(data)
    except ValueError:
        return None


def _read(read: int, deadline: float) -> bytes:
    pieces: List[bytes] = []
    size = 0
    while size < MOST_BYTES:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([read], [], [], left)[0]:
            return b""
        piece = os.read(read, 1 << 16)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        size += len(piece)
    return b""


def _inside(work: Callable[[Limiter], Any], write: int) -> None:
    """Run in the fork; never returns."""
    status = 1
    try:
        data = json.dumps(work(Limiter())).encode()
        while data:
            data = data[os.write(write, data) :]
        status = 0
    except BaseException:
        status = 1
    finally:
        os._exit(status)
