"""Time and memory limits of one test inside a forked child; swallowed limits end the child."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from typing import Any, Iterator

PATIENCE = 40
"""How often a limit may be swallowed (bare `except:`) before the child ends itself."""
GIBIBYTE = 1 << 30


class TimeUp(BaseException):
    """The test has used its time."""


class Limiter:
    """Raises TimeUp in the running test when its CPU or wall time is used; make one per forked child."""

    def __init__(self) -> None:
        self._swallowed = 0
        signal.signal(signal.SIGPROF, self._on_limit)
        signal.signal(signal.SIGALRM, self._on_limit)
        # Nobody handles this one: a loop inside C code, where no Python handler runs, ends the child.
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)

    def _on_limit(self, _number: int, _frame: Any) -> None:
        self._swallowed += 1
        if self._swallowed > PATIENCE:
            os._exit(9)
        raise TimeUp

    @contextlib.contextmanager
    def within(self, cpu_s: float) -> Iterator[None]:
        """Bound what runs inside."""
        self._swallowed = 0
        wall = 4 * cpu_s + 0.5
        signal.setitimer(signal.ITIMER_VIRTUAL, 3 * cpu_s + 0.3)
        signal.setitimer(signal.ITIMER_REAL, wall, 0.05)
        signal.setitimer(signal.ITIMER_PROF, cpu_s, 0.05)
        try:
            yield
        finally:
            self._stop()

    def _stop(self) -> None:
        for _ in range(3):
            try:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            except TimeUp:
                continue
            return


def bound_memory(extra_bytes: int = GIBIBYTE) -> None:
    """Let this process grow by so much and no more."""
    with open("/proc/self/statm") as statm:
        size = int(statm.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = size + extra_bytes
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
