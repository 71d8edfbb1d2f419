"""A forked child that works and reports lines; the parent waits for each no longer than it is told."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import time
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from sandbox.guest.search.process.limits import GIBIBYTE, Limiter, bound_harm, bound_memory, fork, running_processes

RESULTS = 3
"""The descriptor our results leave by; no child that runs candidates may keep it."""
OURS = 400
"""Our ends of pipes have numbers from here on, so that a child can close those of its siblings at once."""
MOST_OURS = 100
Report = Callable[[Any], None]
TAKEN = (
    signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD,
    signal.SIGPIPE,
)  # fmt: skip
"""Signals the repository may have taken when it was imported; a child has them as Python starts."""


class Bounds(NamedTuple):
    """What a child may use."""

    memory_bytes: int = GIBIBYTE
    """How far it may grow."""
    processes: int = 0
    """How many processes this user runs; 0 bounds nothing."""
    guard: Any = None
    """A `guard.Guard`, which the child puts on."""


USUAL = Bounds()


def usual_bounds(memory_bytes: int = GIBIBYTE) -> Bounds:
    """Bounds for the children of this process."""
    return Bounds(memory_bytes, running_processes())


class Child:
    """One forked child in a process group of its own.

    Args:
        work: Called in the child with a limiter and a function that reports one JSON value.
        bounds: What it may use.
        meanwhile: Called while there is no process to be had.
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
        with contextlib.suppress(OSError):  # the child was quicker, or is gone
            os.setpgid(self.pid, self.pid)

    def fileno(self) -> int:
        """What becomes readable when it reports or ends."""
        return self._read

    def next(self, wait_s: float) -> Optional[Any]:
        """The next report; None when the child ended, or said nothing for so long (it is killed then)."""
        _, report = self.hear(wait_s)
        if report is None:
            self.end()
        return report

    def hear(self, wait_s: float) -> Tuple[bool, Optional[Any]]:
        """The next report, and whether one may still come when there is none yet."""
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
        """Kill what is left of it, and of whatever it started."""
        if self._ended:
            return
        self._ended = True
        os.close(self._read)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):  # gone already
                kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def collect(work: Callable[[Limiter, Report], None], wait_s: float, bounds: Bounds = USUAL) -> List[Any]:
    """Everything a child reports within so many seconds."""
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
    """A pipe whose reading end has a high number where the limits allow it."""
    read, write = os.pipe()
    try:
        high = fcntl.fcntl(read, fcntl.F_DUPFD_CLOEXEC, OURS)
    except OSError:
        return read, write
    os.close(read)
    return high, write


def _child(work: Callable[[Limiter, Report], None], write: int, bounds: Bounds) -> None:
    """Run in the forked child; never returns."""
    status = 1
    try:
        os.setpgid(0, 0)
        if bounds.guard is not None:
            bounds.guard.put_on()
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
