"""Time, memory and process limits of a forked child. A child that swallows its limits is ended."""

from __future__ import annotations

import builtins
import contextlib
import os
import resource
import signal
import time
from typing import Any, Callable, Iterator, Optional

PATIENCE = 40
"""Number of times a limit may be swallowed (bare `except:`) before the child exits."""
GIBIBYTE = 1 << 30
TICK_S = 0.005
"""CPU time between two checks of the clock, in seconds."""
WALL_TICK_S = 0.1
FILE_BYTES = 256 << 20
"""Maximum size of a file that a child writes, in bytes."""
MORE_PROCESSES = 64
"""Number of processes that may be added to the running ones."""
MOST_SLOWED, MOST_SLOWED_TRIAL = 20.0, 3.0
"""Maximum factors on limits of wall time on a busy machine: of a confirmation, of a trial.

Few candidates are confirmed. A trial that was ended too soon is retried, but one that sleeps for
ever would take most of the search.
"""
BOUNDS_OF_GROUP = ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
"""Files with the container's own limit, for cgroup versions 2 and 1."""


class TimeLimitExceeded(BaseException):
    """The test has used its time."""


TICK_NAME = "__metaagent_tick__"
"""Name of the guard that loops call, among the builtins of a child, so that every module finds it.
"""


class LoopLimitExceeded(TimeLimitExceeded):
    """A guarded loop has exceeded its iterations."""


def slowdown(most: float = MOST_SLOWED) -> float:
    """Return the factor for limits of wall time, so that no right edit looks endless under load.

    Args:
        most: Its maximum.
    """
    try:
        return min(most, slowdown_under(os.getloadavg()[0], os.cpu_count() or 1))
    except OSError:
        return 1.0


def slowdown_under(load: float, processors: int) -> float:
    """Return the factor by which work takes longer than on an idle machine.

    Args:
        load: The load average.
        processors: The number of processors.
    """
    return max(1.0, load / processors)


class Limiter:
    """Raises `TimeLimitExceeded` in a test after its CPU or wall time; one per forked child.

    The timers tick for the child's whole life, so that arming another test costs no system call.
    """

    def __init__(self) -> None:
        self._armed = False
        self._fresh = self._fresh_wall = True
        self._cpu_s = self._longest = 0.0
        self._end = self._end_wall = 0.0
        self._swallowed = self._late = 0
        self._turns = self._turns_left = 1 << 60
        self._tick = self._turn
        self._slowdown = slowdown(MOST_SLOWED_TRIAL)
        # Tests may replace the clocks in the module.
        self._clock, self._wall_clock = time.process_time, time.monotonic
        signal.signal(signal.SIGPROF, self._on_cpu)
        signal.signal(signal.SIGALRM, self._on_wall)
        # This signal keeps its default: a loop in C code runs no Python handler and has to end the
        # child.
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
        self.start()

    def start(self) -> None:
        """Start the timers, which a test may have stopped."""
        signal.setitimer(signal.ITIMER_REAL, WALL_TICK_S, WALL_TICK_S)
        signal.setitimer(signal.ITIMER_PROF, TICK_S, TICK_S)

    def restore(self) -> None:
        """Restore signals and timers that a test changed; nearly free if it changed none."""
        if signal.getitimer(signal.ITIMER_REAL)[1]:
            return
        signal.signal(signal.SIGPROF, self._on_cpu)
        signal.signal(signal.SIGALRM, self._on_wall)
        self.start()

    def arm(self, cpu_s: float) -> None:
        """Start counting against the limit."""
        self._cpu_s = cpu_s
        self._longest = max(self._longest, cpu_s)
        self._swallowed = self._late = 0
        self._turns_left = self._turns
        self._fresh = self._fresh_wall = True
        self._armed = True

    def disarm(self) -> None:
        """Stop counting."""
        self._armed = False

    def guard_loops(self, turns: int) -> None:
        """Limit the total iterations of guarded loops in one test."""
        self._turns = self._turns_left = turns
        setattr(builtins, TICK_NAME, self._tick)

    def _turn(self) -> bool:
        self._turns_left -= 1
        if self._turns_left < 0:
            self._swallowed += 1
            raise LoopLimitExceeded
        return True

    @property
    def turned(self) -> int:
        """The iterations of guarded loops since the limit was armed."""
        return self._turns - self._turns_left

    @property
    def turned_out(self) -> bool:
        """True if guarded loops exceeded their iterations."""
        return self._turns_left < 0

    @property
    def exceeded(self) -> bool:
        """True if the limit was reached since it was armed, even if the exception was caught."""
        return self._swallowed > 0

    @contextlib.contextmanager
    def within(self, cpu_s: float) -> Iterator[None]:
        """Limit the code inside this context."""
        self.arm(cpu_s)
        try:
            yield
        finally:
            self._armed = False

    @contextlib.contextmanager
    def longer(self, cpu_s: float) -> Iterator[None]:
        """Give the code inside this context its own time, not charged to the armed limit."""
        longest, began, began_wall = self._longest, self._clock(), self._wall_clock()
        self._longest = max(longest, cpu_s)
        self._shift(cpu_s, 10 * cpu_s)
        try:
            yield
        finally:
            self._longest = longest
            self._shift(self._clock() - began - cpu_s, self._wall_clock() - began_wall - 10 * cpu_s)

    def _shift(self, cpu_s: float, wall_s: float) -> None:
        self._cpu_s += cpu_s
        self._end += cpu_s
        self._end_wall += wall_s

    def _on_cpu(self, _number: int, _frame: Any) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 3 * self._longest + 0.5)  # the interpreter is alive
        if not self._armed:
            return
        now = self._clock()
        if self._fresh:
            self._fresh = False
            self._end = now + self._cpu_s
        elif now >= self._end:
            self._raise()

    def _on_wall(self, _number: int, _frame: Any) -> None:
        if not self._armed:
            return
        now = self._wall_clock()
        if self._fresh_wall:
            self._fresh_wall = False
            # Wall time includes waiting on a busy machine, so its limit is much longer.
            self._end_wall = now + (10 * self._cpu_s + 1.0) * self._slowdown
        elif now >= self._end_wall:
            self._raise()

    def _raise(self) -> None:
        self._swallowed += 1
        self._late += 1
        if self._late > PATIENCE:
            os._exit(9)
        raise TimeLimitExceeded


def bound_memory(extra_bytes: int = GIBIBYTE) -> None:
    """Limit the growth of this process's memory."""
    with open("/proc/self/statm") as statm:
        size = int(statm.read().split()[0]) * resource.getpagesize()
    _lower(resource.RLIMIT_AS, size + extra_bytes)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def bound_harm(processes: int) -> None:
    """Limit the size of written files and the number of new processes.

    Args:
        processes: Number that this user runs now; 0 if unknown.
    """
    _lower(resource.RLIMIT_FSIZE, FILE_BYTES)
    if processes:
        _lower(resource.RLIMIT_NPROC, processes + MORE_PROCESSES)


def running_processes() -> int:
    """Return the number of processes and threads of this user; 0 if a limit on them is useless.

    The kernel counts a user's processes over all containers: beside another busy sandbox, a limit
    could let nothing start here. If a control group limits this sandbox alone, that is enough.
    """
    if _is_bounded_alone():
        return 0
    user, count = os.getuid(), 0
    try:
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError):
                    if os.stat(f"/proc/{name}").st_uid == user:
                        count += len(os.listdir(f"/proc/{name}/task"))
    except OSError:
        return 0
    return count


def fork(patience_s: float = 240.0, meanwhile: Optional[Callable[[], None]] = None) -> int:
    """Fork; while no process is available, wait until a trial that holds them all is ended.

    Such a trial is ended by the clock, which may take long on a busy machine.

    Args:
        patience_s: Timeout in seconds.
        meanwhile: Called repeatedly; a caller that has to end that trial itself does so here.

    Raises:
        OSError: No process was available before the timeout.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return os.fork()
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            if meanwhile is not None:
                meanwhile()
            time.sleep(0.01)


def _is_bounded_alone() -> bool:
    """Return True if a control group limits the processes of this container."""
    for name in BOUNDS_OF_GROUP:
        try:
            with open(name) as file:
                return file.read().strip().isdigit()
        except OSError:
            continue
    return False


def _lower(kind: int, wanted: int) -> None:
    soft, hard = resource.getrlimit(kind)
    known = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(kind, (min([wanted, *known]), hard))
