"""Stops missions that an operator paused with `--now`, or that a person cancelled."""

import asyncio
import logging

from bot.domain.request import Halted
from bot.errors import QueueError, StoreError
from bot.ledger.pauses import Pauses
from bot.ports import MissionQueue, MissionRecords

LOOK_S = 2.0
"""Interval between two looks, in seconds."""

log = logging.getLogger(__name__)


class PauseWatch:
    """Looks for pauses periodically. In several processes, a mission is still stopped only once.

    Args:
        pauses: The operator's pauses.
        queue: The queue of missions.
        records: The table of missions, which holds the requests to stop one.
        every_s: Interval between two looks, in seconds.
    """

    def __init__(
        self,
        pauses: Pauses,
        queue: MissionQueue,
        records: MissionRecords | None = None,
        *,
        every_s: float = LOOK_S,
    ) -> None:
        self._pauses = pauses
        self._queue = queue
        self._records = records
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
        """Stop running missions that a pause covers, and cancelled ones; return their number.

        Raises:
            StoreError: the database cannot be used.
            QueueError: the queue does not answer.
        """
        pauses = [pause for pause in await self._pauses.all() if pause.now]
        asked = await self._records.asked_to_stop() if self._records is not None else {}
        if not pauses and not asked:
            return 0
        begun = {mission.mission_id for mission in await self._pauses.running()}
        stopped = 0
        for request in await self._queue.under_way():
            mission = request.mission_id
            pause = next(
                (one for one in pauses if request.repository and one.covers(request.repository)),
                None,
            )
            if mission in asked:
                await self._stop(Halted(request=request, why=f"{asked[mission]} cancelled it"))
            elif pause is not None and mission in begun:
                await self._stop(Halted(request=request, why=pause.in_words, at=pause.at))
            else:
                continue
            stopped += 1
        return stopped

    async def _stop(self, halted: Halted) -> None:
        log.warning("stopped: %s", halted.why, extra={"mission": halted.request.mission_id})
        # Enqueued first, so that it is stopped and reported even if this process crashes now.
        await self._queue.notice(halted)
        await self._queue.cancel(halted.request.mission_id)
