"""A forked child that reports JSON lines; the parent waits for each with a timeout."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import time
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from sandbox.guest.search.process.limits import (
    GIBIBYTE,
    Limiter,
    bound_harm,
    bound_memory,
    fork,
    running_processes,
)

RESULTS = 3
"""The descriptor for events to the host; no child that runs candidates may keep it."""
OURS = 400
"""Lowest number of our pipe ends, so that a child can close those of its siblings at once."""
MOST_OURS = 100
Report = Callable[[Any], None]
TAKEN = (
    signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD,
    signal.SIGPIPE,
)  # fmt: skip
"""Signals that the repository may have handled during import; a child restores their defaults."""


class Bounds(NamedTuple):
    """The resource limits of a child."""

    memory_bytes: int = GIBIBYTE
    """Maximum growth of its memory."""
    processes: int = 0
    """Number of processes that this user runs; 0 means no limit."""
    guard: Any = None
    """A `guard.Guard` that the child activates."""


USUAL = Bounds()


def usual_bounds(memory_bytes: int = GIBIBYTE) -> Bounds:
    """Return the limits for children of this process."""
    return Bounds(memory_bytes, running_processes())


class Child:
    """A forked child in its own process group.

    Args:
        work: Called in the child with a limiter and a function that reports one JSON value.
        bounds: The resource limits.
        meanwhile: Called while no process is available.
    """

    def __init__(
        self,
        work: Callable[[Limiter, Report], None],
        bounds: Bounds = USUAL,
        meanwhile: Optional[Callable[[], None]] = None,
    ) -> None:
        self._buffer = b""
        self._ended = False
        self._read, write = _pipe()
        self.pid = fork(meanwhile=meanwhile)
        if self.pid == 0:
            _child(work, write, bounds)
        os.close(write)
        with contextlib.suppress(OSError):  # the child did it first, or is gone
            os.setpgid(self.pid, self.pid)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the child reports or ends."""
        return self._read

    def next(self, wait_s: float) -> Optional[Any]:
        """Return the next report, or None if the child ended or timed out (it is then killed)."""
        _, report = self.hear(wait_s)
        if report is None:
            self.end()
        return report

    def hear(self, wait_s: float) -> Tuple[bool, Optional[Any]]:
        """Wait for a report; return whether the child may still report, and the report or None."""
        if self._ended:
            return False, None
        deadline = time.monotonic() + wait_s
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            ready = select.select([self._read], [], [], max(0.0, left))[0]
            if not ready:
                return True, None
            data = os.read(self._read, 65536)
            if not data:
                return False, None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        try:
            return True, json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return False, None

    def end(self) -> None:
        """Kill the child and its process group."""
        if self._ended:
            return
        self._ended = True
        os.close(self._read)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):  # already gone
                kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def collect(
    work: Callable[[Limiter, Report], None], wait_s: float, bounds: Bounds = USUAL
) -> List[Any]:
    """Return everything that a child reports within the timeout."""
    deadline = time.monotonic() + wait_s
    child = Child(work, bounds)
    reports: List[Any] = []
    while True:
        report = child.next(deadline - time.monotonic())
        if report is None:
            child.end()
            return reports
        reports.append(report)


def _pipe() -> Tuple[int, int]:
    """Return a pipe whose reading end has a high number, if the limits allow it."""
    read, write = os.pipe()
    try:
        high = fcntl.fcntl(read, fcntl.F_DUPFD_CLOEXEC, OURS)
    except OSError:
        return read, write
    os.close(read)
    return high, write


def _child(work: Callable[[Limiter, Report], None], write: int, bounds: Bounds) -> None:
    """Run the work in the forked child; never returns."""
    status = 1
    try:
        os.setpgid(0, 0)
        if bounds.guard is not None:
            bounds.guard.activate()
        os.closerange(OURS, OURS + MOST_OURS)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2, RESULTS):
            if descriptor != write:
                os.dup2(null, descriptor)
        for number in TAKEN:
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        bound_memory(bounds.memory_bytes)
        bound_harm(bounds.processes)
        limiter = Limiter()

        def report(value: Any) -> None:
            data = json.dumps(value).encode() + b"\n"
            while data:
                data = data[os.write(write, data) :]

        work(limiter, report)
        status = 0
    except BaseException:
        status = 1
    finally:
        os._exit(status)
