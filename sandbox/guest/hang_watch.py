"""Shortly before the time is over, look where the running test spends it (as far as it uses the CPU)."""

import os
import signal
from time import monotonic
from types import FrameType
from typing import Any, Callable, Optional


class HangWatch:
    """Looks once, from a signal that only time spent computing brings.

    Args:
        look_at: When, on the monotonic clock.
        told: Gets the frame that was running; says whether a test was, else it is looked again.
    """

    def __init__(self, look_at: float, told: Callable[[Optional[FrameType]], Any]) -> None:
        self._look_at = look_at
        self._told = told
        self._pid = os.getpid()
        self._getpid = os.getpid

    def start(self) -> None:
        """Begin to watch."""
        signal.signal(signal.SIGVTALRM, self._look)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.2, 0.2)

    def stop(self) -> None:
        """The timer must not outlive the session: the interpreter would die of its signal while it shuts down."""
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _look(self, _signal: int, frame: Optional[FrameType]) -> None:
        if monotonic() < self._look_at or self._getpid() != self._pid:
            return
        if self._told(frame):
            self.stop()
