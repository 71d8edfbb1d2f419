"""Log lines about wrong tokens, at a limited rate: strangers can send any number of them."""

import asyncio
import logging

TICK_S = 60.0
"""Least time between two lines, in seconds."""

log = logging.getLogger(__name__)


class WrongTokens:
    """Logs the first wrong token at once, and how many came later at the end of each tick.

    Args:
        tick_s: Least time between two lines, in seconds.
    """

    def __init__(self, tick_s: float = TICK_S) -> None:
        self._tick_s = tick_s
        self._more = 0
        self._tick: asyncio.TimerHandle | None = None

    def note(self) -> None:
        """Count a wrong token."""
        if self._tick is not None:
            self._more += 1
            return
        log.warning("dashboard: a wrong token was refused")
        self._start_tick()

    def _start_tick(self) -> None:
        self._tick = asyncio.get_running_loop().call_later(self._tick_s, self._end_tick)

    def _end_tick(self) -> None:
        self._tick = None
        if self._more:
            log.warning("dashboard: %d more wrong tokens were refused", self._more)
            self._more = 0
            self._start_tick()
