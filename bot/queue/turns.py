"""Periodic background calls in their own threads, which a blocked event loop cannot delay."""

import logging
import threading
from collections.abc import Callable, Iterable

Turn = Callable[[], object]

log = logging.getLogger(__name__)


class Turns:
    """Calls functions at a fixed interval.

    Each call looks at the current state, so an error or a missed call is made up for by the next
    one.

    Args:
        turns: The functions. Each has its own thread, since one may hang while the database is
            away.
        every_s: Interval between two calls, in seconds.
    """

    def __init__(self, turns: Iterable[Turn], every_s: float) -> None:
        self._every_s = every_s
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._loop, args=(turn,), name=turn.__name__, daemon=True)
            for turn in turns
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop the threads; wait at most one interval for each."""
        self._stop.set()
        for thread in self._threads:
            thread.join(self._every_s)

    @property
    def is_working(self) -> bool:
        """Return True if all threads are alive."""
        return all(thread.is_alive() for thread in self._threads)

    def _loop(self, turn: Turn) -> None:
        well = True
        while not self._stop.wait(self._every_s):
            try:
                turn()
                well = True
            except Exception as error:  # of any kind; the next call starts from the current state
                if well:
                    log.warning("supervision failed (%s): %s", turn.__name__, type(error).__name__)
                well = False
