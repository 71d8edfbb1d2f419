"""Stop a test that computes endlessly, so that the following tests run."""

import os
import signal
import threading
from time import process_time
from types import FrameType
from typing import Any, Callable, List, Optional, Set, Tuple

TICK_S = 0.25
"""Processor seconds between two checks, also after an exception that the test caught."""
AGAIN, LEAST = 0.1, 0.025
"""Shares of the limit for a test in a place where another one did not end: at first, and after
several of them.
"""

Place = Tuple[Any, Any]


class TimeUp(BaseException):
    """The test has used its processor time. No program expects this exception."""


class CpuLimit:
    """Limit for the main thread's Python code inside `with limit:`. Create it in the main thread.

    Args:
        most_s: Processor seconds; 0 means no limit.
        stack: Returns the running frames of the checkout, outermost first.
    """

    def __init__(
        self, most_s: float, stack: Callable[[Optional[FrameType]], List[List[Any]]]
    ) -> None:
        self._most_s = most_s
        self._again_s = AGAIN * most_s
        self._stack = stack
        self._endless: Set[Place] = set()
        self._seen: List[Place] = []
        self._armed = False
        self._began = 0.0
        # Tests may replace these modules' functions. A method is a new object at each access.
        self._process, self._thread = os.getpid, threading.get_ident
        self._home = (self._process(), self._thread())
        self._timer, self._getsignal, self._signal = (
            signal.setitimer,
            signal.getsignal,
            signal.signal,
        )
        self._handler = self._tick
        self.stopped = ""
        """Why the last test was stopped, even if it caught the exception; empty if it was not."""
        self.frames: List[List[Any]] = []
        """The frames in which it was stopped."""

    def __enter__(self) -> None:
        """Start to count, unless the project uses the signal itself."""
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
        """Stop to count.

        The handler stays, because a pending signal would end the process without it.
        """
        if self._armed:
            self._armed = False
            if self._getsignal(signal.SIGPROF) is self._handler:
                self._timer(signal.ITIMER_PROF, 0)

    def insist(self) -> None:
        """Raise again for code that caught the exception."""
        if self.stopped:
            raise TimeUp(self.stopped)

    def mark(self, detail: "dict[str, Any]") -> "dict[str, Any]":
        """Turn the detail of a failure into a time-out if it is one."""
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
            self.stopped = "did not end within %g s of processor time" % (
                self._again_s if again else self._most_s
            )
            if again:
                self.stopped += ", where another test had not ended"
                self._again_s = max(LEAST * self._most_s, self._again_s / 2)
            # The first half of the samples may be code before the endless loop.
            self._endless.update(self._seen[len(self._seen) // 2 :])
            self.frames = frames
        raise TimeUp(self.stopped)
