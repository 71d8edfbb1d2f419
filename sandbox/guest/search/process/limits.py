"""Time, memory and process limits of a forked child; swallowed limits end the child."""

from __future__ import annotations

import builtins
import contextlib
import os
import resource
import signal
import time
from typing import Any, Callable, Iterator, Optional

PATIENCE = 40
"""How often a limit may be swallowed (bare `except:`) before the child ends itself."""
GIBIBYTE = 1 << 30
TICK_S = 0.005
"""CPU time between two looks at the clock."""
WALL_TICK_S = 0.1
FILE_BYTES = 256 << 20
"""The largest file a child may write."""
MORE_PROCESSES = 64
"""How many processes may be added to those that run already."""
BOUNDS_OF_GROUP = ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
"""Where a container sees its own bound, by version of control groups."""


class TimeUp(BaseException):
    """The test has used its time."""


TICK_NAME = "__metaagent_tick__"
"""What a guarded loop calls; among the builtins of a child, so that every module finds it."""


class LoopUp(TimeUp):
    """A guarded loop has turned too often."""


class Limiter:
    """Raises TimeUp in the running test when its CPU or wall time is used; make one per forked child.

    The timers tick as long as the child lives, so that bounding one more test costs no system call.
    """

    def __init__(self) -> None:
        self._armed = False
        self._fresh = self._fresh_wall = True
        self._cpu_s = self._longest = 0.0
        self._end = self._end_wall = 0.0
        self._swallowed = self._late = 0
        self._turns = self._turns_left = 1 << 60
        self._tick = self._turn
        # Tests may put other clocks into the module.
        self._clock, self._wall_clock = time.process_time, time.monotonic
        signal.signal(signal.SIGPROF, self._on_cpu)
        signal.signal(signal.SIGALRM, self._on_wall)
        # Nobody handles this one: a loop inside C code, where no Python handler runs, ends the child.
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
        self.start()

    def start(self) -> None:
        """Let the timers tick; a test may have stopped them."""
        signal.setitimer(signal.ITIMER_REAL, WALL_TICK_S, WALL_TICK_S)
        signal.setitimer(signal.ITIMER_PROF, TICK_S, TICK_S)

    def restore(self) -> None:
        """Take back the signals and timers that a test took; costs next to nothing when none did."""
        if signal.getitimer(signal.ITIMER_REAL)[1]:
            return
        signal.signal(signal.SIGPROF, self._on_cpu)
        signal.signal(signal.SIGALRM, self._on_wall)
        self.start()

    def arm(self, cpu_s: float) -> None:
        """From now on the limit counts."""
        self._cpu_s = cpu_s
        self._longest = max(self._longest, cpu_s)
        self._swallowed = self._late = 0
        self._turns_left = self._turns
        self._fresh = self._fresh_wall = True
        self._armed = True

    def disarm(self) -> None:
        """It counts no longer."""
        self._armed = False

    def guard_loops(self, turns: int) -> None:
        """Guarded loops may turn so often in one test, all together."""
        self._turns = self._turns_left = turns
        setattr(builtins, TICK_NAME, self._tick)

    def _turn(self) -> bool:
        self._turns_left -= 1
        if self._turns_left < 0:
            self._swallowed += 1
            raise LoopUp
        return True

    @property
    def turned(self) -> int:
        """How often guarded loops have turned since the limit was armed."""
        return self._turns - self._turns_left

    @property
    def turned_out(self) -> bool:
        """Whether guarded loops have turned more often than they may."""
        return self._turns_left < 0

    @property
    def exceeded(self) -> bool:
        """The limit was reached since it was armed, whoever caught it."""
        return self._swallowed > 0

    @contextlib.contextmanager
    def within(self, cpu_s: float) -> Iterator[None]:
        """Bound what runs inside."""
        self.arm(cpu_s)
        try:
            yield
        finally:
            self._armed = False

    @contextlib.contextmanager
    def longer(self, cpu_s: float) -> Iterator[None]:
        """What runs inside has time of its own, and takes none from what is bounded already."""
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
            self._end_wall = now + 10 * self._cpu_s + 1.0
        elif now >= self._end_wall:
            self._raise()

    def _raise(self) -> None:
        self._swallowed += 1
        self._late += 1
        if self._late > PATIENCE:
            os._exit(9)
        raise TimeUp


def bound_memory(extra_bytes: int = GIBIBYTE) -> None:
    """Let this process grow by so much and no more."""
    with open("/proc/self/statm") as statm:
        size = int(statm.read().split()[0]) * resource.getpagesize()
    _lower(resource.RLIMIT_AS, size + extra_bytes)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def bound_harm(processes: int) -> None:
    """Bound what this process may write into one file, and how many processes it may start.

    Args:
        processes: How many this user runs now; 0 when that is not known.
    """
    _lower(resource.RLIMIT_FSIZE, FILE_BYTES)
    if processes:
        _lower(resource.RLIMIT_NPROC, processes + MORE_PROCESSES)


def running_processes() -> int:
    """How many processes and threads this user runs, as far as this can be seen; 0 where that bounds nothing.

    The kernel counts a user's processes over all containers: beside another busy sandbox, a limit on their number
    would let nothing start here. A control group bounds this sandbox alone, and then that is enough.
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


def fork(patience_s: float = 60.0, meanwhile: Optional[Callable[[], None]] = None) -> int:
    """Fork; where a trial has taken every process there may be, wait until it was ended.

    A trial that does nothing but hold its processes is ended by the clock, and on a busy machine that takes a while.

    Args:
        patience_s: So long at the most.
        meanwhile: Called again and again; who has to end that trial, and waits here, ends it there.

    Raises:
        OSError: still none after so many seconds.
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
    """Whether a control group of this container says how many processes there may be."""
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
