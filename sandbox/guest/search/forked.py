"""A forked child that works and reports lines; the parent waits for each no longer than it is told."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from typing import Any, Callable, List, Optional

from sandbox.guest.search.limits import Limiter, bound_memory

RESULTS = 3
"""The descriptor our results leave by; no child that runs candidates may keep it."""
Report = Callable[[Any], None]


class Child:
    """One forked child in a process group of its own.

    Args:
        work: Called in the child with a limiter and a function that reports one JSON value.
    """

    def __init__(self, work: Callable[[Limiter, Report], None]) -> None:
        self._buffer = b""
        self._ended = False
        self._read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._read)
            _child(work, write)
        os.close(write)
        with contextlib.suppress(OSError):  # the child was quicker, or is gone
            os.setpgid(self.pid, self.pid)

    def next(self, wait_s: float) -> Optional[Any]:
        """The next report; None when the child ended, or said nothing for so long (it is killed then)."""
        deadline = time.monotonic() + wait_s
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            ready = select.select([self._read], [], [], max(0.0, left))[0] if left > 0 else []
            data = os.read(self._read, 65536) if ready else b""
            if not data:
                self.end()
                return None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        try:
            return json.loads(line)
        except ValueError:
            return None

    def end(self) -> None:
        """Kill what is left of it, and of whatever it started."""
        if self._ended:
            return
        self._ended = True
        os.close(self._read)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):  # gone already
                kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def collect(work: Callable[[Limiter, Report], None], wait_s: float) -> List[Any]:
    """Everything a child reports within so many seconds."""
    deadline = time.monotonic() + wait_s
    child = Child(work)
    reports: List[Any] = []
    while True:
        report = child.next(deadline - time.monotonic())
        if report is None:
            child.end()
            return reports
        reports.append(report)


def _child(work: Callable[[Limiter, Report], None], write: int) -> None:
    """Run in the forked child; never returns."""
    status = 1
    try:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2, RESULTS):
            if descriptor != write:
                os.dup2(null, descriptor)
        bound_memory()
        limiter = Limiter()

        def report(value: Any) -> None:
            os.write(write, json.dumps(value).encode() + b"\n")

        work(limiter, report)
        status = 0
    except BaseException:
        status = 1
    finally:
        os._exit(status)
