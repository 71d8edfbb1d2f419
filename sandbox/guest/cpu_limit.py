"""Stop a test that computes without end, so that the tests after it are run, too."""

import os
import signal
import threading
from time import process_time
from types import FrameType
from typing import Any, Callable, List, Optional, Set, Tuple

TICK_S = 0.25
"""Processor time between two looks; a limit that was swallowed is told again after so much."""
AGAIN, LEAST = 0.1, 0.025
"""Of its limit, what a test may take that is found where another did not end: at first, and after some of them."""

Place = Tuple[Any, Any]


class TimeUp(BaseException):
    """The test has used its processor time; no program expects this one."""


class CpuLimit:
    """Bounds what runs in `with limit:`, as far as Python code of the main thread runs there; make it there.

    Args:
        most_s: Processor time; 0 for no limit.
        stack: Gives the frames of the checkout that are running, outermost first.
    """

    def __init__(self, most_s: float, stack: Callable[[Optional[FrameType]], List[List[Any]]]) -> None:
        self._most_s = most_s
        self._again_s = AGAIN * most_s
        self._stack = stack
        self._endless: Set[Place] = set()
        self._seen: List[Place] = []
        self._armed = False
        self._began = 0.0
        # Tests may put other functions into the modules; a method is a new object each time it is asked for.
        self._process, self._thread = os.getpid, threading.get_ident
        self._home = (self._process(), self._thread())
        self._timer, self._getsignal, self._signal = signal.setitimer, signal.getsignal, signal.signal
        self._handler = self._tick
        self.stopped = ""
        """Why what ran last was stopped, whoever caught it; empty when it was not."""
        self.frames: List[List[Any]] = []
        """Where that was."""

    def __enter__(self) -> None:
        """From now on it counts, unless the signal is the project's own."""
        self.stopped, self.frames, self._seen = "", [], []
        if self._most_s <= 0 or (self._process(), self._thread()) != self._home:
            return
        if self._getsignal(signal.SIGPROF) is not self._handler:
            if self._getsignal(signal.SIGPROF) != signal.SIG_DFL:
                return
            self._signal(signal.SIGPROF, self._handler)
        self._began, self._armed = process_time(), True
        self._timer(signal.ITIMER_PROF, TICK_S, TICK_S)

    def __exit__(self, *_: object) -> None:
        """It counts no longer. The handler stays: a signal under way would end the process without it."""
        if self._armed:
            self._armed = False
            if self._getsignal(signal.SIGPROF) is self._handler:
                self._timer(signal.ITIMER_PROF, 0)

    def insist(self) -> None:
        """Tell it once more to whoever caught it."""
        if self.stopped:
            raise TimeUp(self.stopped)

    def mark(self, detail: "dict[str, Any]") -> "dict[str, Any]":
        """The detail of a failure, told as a time-out when it is one."""
        if self.stopped:
            detail.update(error="Timeout", message=self.stopped, frames=self.frames, hung=True)
        return detail

    def _tick(self, _signal: int, frame: Optional[FrameType]) -> None:
        if not self._armed or (self._process(), self._thread()) != self._home:
            return
        if not self.stopped:
            used, frames = process_time() - self._began, self._stack(frame)
            self._seen += [(file, function) for file, _, function in frames[-1:]]
            again = used >= self._again_s and self._seen[-1:] and self._seen[-1] in self._endless
            if used < self._most_s and not again:
                return
            self.stopped = "did not end within %g s of processor time" % (self._again_s if again else self._most_s)
            if again:
                self.stopped += ", where another test had not ended"
                self._again_s = max(LEAST * self._most_s, self._again_s / 2)
            # What came before the loop without an end is in the first half.
            self._endless.update(self._seen[len(self._seen) // 2 :])
            self.frames = frames
        raise TimeUp(self.stopped)
