"""What is done again and again, in threads of its own: a blocked event loop must not look like death."""

import logging
import threading
from collections.abc import Callable, Iterable

Turn = Callable[[], object]

log = logging.getLogger(__name__)


class Turns:
    """Each turn looks at what is, not at what happened: an error, or a turn missed, is put right by the next one.

    Args:
        turns: What is done. Each has a thread: one that hangs while the database is away silences no other.
        every_s: Between two turns.
    """

    def __init__(self, turns: Iterable[Turn], every_s: float) -> None:
        self._every_s = every_s
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._again_and_again, args=(turn,), name=turn.__name__, daemon=True)
            for turn in turns
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End; a turn under way is waited for, but not for long."""
        self._stop.set()
        for thread in self._threads:
            thread.join(self._every_s)

    @property
    def is_working(self) -> bool:
        """Whether all go on."""
        return all(thread.is_alive() for thread in self._threads)

    def _again_and_again(self, turn: Turn) -> None:
        well = True
        while not self._stop.wait(self._every_s):
            try:
                turn()
                well = True
            except Exception as error:  # whatever it was, the next turn looks at everything again
                if well:
                    log.warning("supervision (%s) fails: %s", turn.__name__, type(error).__name__)
                well = False
