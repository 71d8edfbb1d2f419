"""Stops running missions that an operator paused with `--now`."""

import asyncio
import logging

from bot.domain.request import Halted
from bot.errors import QueueError, StoreError
from bot.ledger.pauses import Pauses
from bot.ports import MissionQueue

LOOK_S = 2.0
"""Interval between two looks, in seconds."""

log = logging.getLogger(__name__)


class PauseWatch:
    """Looks for pauses periodically. In several processes, a mission is still stopped only once.

    Args:
        pauses: The operator's pauses.
        queue: The queue of missions.
        every_s: Interval between two looks, in seconds.
    """

    def __init__(self, pauses: Pauses, queue: MissionQueue, *, every_s: float = LOOK_S) -> None:
        self._pauses = pauses
        self._queue = queue
        self._every_s = every_s

    async def run(self) -> None:
        """Look in a loop until cancelled."""
        logged = ""
        while True:
            try:
                await self.look()
                logged = ""
            except (StoreError, QueueError) as error:
                log.warning("reading pauses failed: %s", error.message)
            except Exception as error:
                # Without this loop a pause stops nothing, so it must survive every error.
                # A repeated error is logged once, not every two seconds.
                if repr(error) != logged:
                    log.exception("reading pauses failed")
                logged = repr(error)
            await asyncio.sleep(self._every_s)

    async def look(self) -> int:
        """Stop running missions that a pause covers; return their number.

        Raises:
            StoreError: the database cannot be used.
            QueueError: the queue does not answer.
        """
        pauses = [pause for pause in await self._pauses.all() if pause.now]
        if not pauses:
            return 0
        begun = {mission.mission_id for mission in await self._pauses.running()}
        stopped = 0
        for request in await self._queue.under_way():
            pause = next(
                (one for one in pauses if request.repository and one.covers(request.repository)),
                None,
            )
            if pause is not None and request.mission_id in begun:
                log.warning("stopped: %s", pause.in_words, extra={"mission": request.mission_id})
                # Enqueued first, so that it is stopped and reported even if this process crashes
                # now.
                await self._queue.notice(Halted(request=request, why=pause.in_words, at=pause.at))
                await self._queue.cancel(request.mission_id)
                stopped += 1
        return stopped
