"""What the operator paused with `--now`: missions that run there are stopped, and that is told."""

import asyncio
import logging

from bot.domain.request import Halted
from bot.errors import QueueError, StoreError
from bot.ledger.pauses import Pauses
from bot.ports import MissionQueue

LOOK_S = 2.0
"""Between two looks."""

log = logging.getLogger(__name__)


class PauseWatch:
    """Looks every two seconds. Several may look: a mission is stopped once, and told in one place.

    Args:
        pauses: What is paused.
        queue: Has the missions.
    """

    def __init__(self, pauses: Pauses, queue: MissionQueue) -> None:
        self._pauses = pauses
        self._queue = queue

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look()
            except (StoreError, QueueError) as error:
                log.warning("what is paused is not known: %s", error.message)
            await asyncio.sleep(LOOK_S)

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
