"""Sample the running test shortly before its time limit, as far as it uses the CPU."""

import os
import signal
from time import monotonic
from types import FrameType
from typing import Any, Callable, Optional


class HangWatch:
    """Takes one sample, on a signal that only CPU time triggers.

    Args:
        look_at: Time of the sample on the monotonic clock.
        on_sample: Receives the running frame. Returns False to sample again if no test was running.
    """

    def __init__(self, look_at: float, on_sample: Callable[[Optional[FrameType]], Any]) -> None:
        self._look_at = look_at
        self._on_sample = on_sample
        self._pid = os.getpid()
        self._getpid = os.getpid

    def start(self) -> None:
        """Start the timer."""
        signal.signal(signal.SIGVTALRM, self._look)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.2, 0.2)

    def stop(self) -> None:
        """Stop the timer.

        It must not outlive the session: its signal would kill the interpreter during shutdown.
        """
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _look(self, _signal: int, frame: Optional[FrameType]) -> None:
        if monotonic() < self._look_at or self._getpid() != self._pid:
            return
        if self._on_sample(frame):
            self.stop()
