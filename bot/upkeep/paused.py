"""What the operator paused with `--now`: missions that run there are stopped, and that is told."""

import asyncio
import logging

from bot.domain.request import Halted
from bot.errors import QueueError, StoreError
from bot.ledger.pauses import Pauses
from bot.ports import MissionQueue

LOOK_S = 2.0

log = logging.getLogger(__name__)


class PauseWatch:
    """Looks every two seconds. Several may look: a mission is stopped once, and told in one place.

    Args:
        pauses: What is paused.
        queue: Has the missions.
        every_s: Between two looks.
    """

    def __init__(self, pauses: Pauses, queue: MissionQueue, *, every_s: float = LOOK_S) -> None:
        self._pauses = pauses
        self._queue = queue
        self._every_s = every_s

    async def run(self) -> None:
        """Until cancelled."""
        said = ""
        while True:
            try:
                await self.look()
                said = ""
            except (StoreError, QueueError) as error:
                log.warning("what is paused is not known: %s", error.message)
            except Exception as error:
                # Nobody begins this anew, and without it a pause stops nothing. Said once, not every two seconds.
                if repr(error) != said:
                    log.exception("what is paused is not known")
                said = repr(error)
            await asyncio.sleep(self._every_s)

    async def look(self) -> int:
        """Stop what runs where it may not; how many.

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
            pause = next((one for one in pauses if request.repository and one.covers(request.repository)), None)
            if pause is not None and request.mission_id in begun:
                log.warning("stopped: %s", pause.in_words, extra={"mission": request.mission_id})
                # In line first: should this process die now, it is stopped and told all the same.
                await self._queue.notice(Halted(request=request, why=pause.in_words, at=pause.at))
                await self._queue.cancel(request.mission_id)
                stopped += 1
        return stopped
