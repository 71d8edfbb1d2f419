"""From the inbox to the queue; also what a dead process left behind."""

import asyncio
import logging
from contextlib import suppress

from bot.domain.command import Command
from bot.domain.request import Feedback, HeadMoved, InstallationChange, MissionRequest, RedHead
from bot.errors import QueueError
from bot.ports import MissionQueue, Work
from bot.queue.inbox import LEFT_S, Inbox
from bot.queue.inbox_table import Waiting

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0


class Dispatcher:
    """Puts every waiting delivery in line, for ever.

    A delivery is marked only after the queue has it, and the queue takes a mission once: dying between the
    two costs nothing, nor do two processes that both hand over what a third one left.

    Args:
        inbox: Where deliveries wait.
        queue: Where missions wait.
        look_s: How often to look for what another process left.
    """

    def __init__(self, inbox: Inbox, queue: MissionQueue, *, look_s: float = LEFT_S) -> None:
        self._inbox = inbox
        self._queue = queue
        self._look_s = look_s

    async def run(self) -> None:
        """Until cancelled. Starts with what is there."""
        pause = FIRST_PAUSE_S
        while True:
            self._inbox.arrived.clear()
            try:
                await self.deliver()
            except QueueError as error:
                log.warning("the queue does not take work, trying again in %.1f s: %s", pause, error.message)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)
                continue
            pause = FIRST_PAUSE_S
            with suppress(TimeoutError):
                await asyncio.wait_for(self._inbox.arrived.wait(), self._look_s)

    async def deliver(self) -> int:
        """Everything that waits now; how many were handed over.

        Raises:
            QueueError: the queue or the inbox does not answer.
        """
        waiting = await self._inbox.waiting()
        read_at = asyncio.get_running_loop().time()
        failed: QueueError | None = None
        # After an outage many wait; a person is not left to wait behind machines.
        for done, one in enumerate(sorted(waiting, key=lambda one: not isinstance(one.work, Command))):
            if asyncio.get_running_loop().time() - read_at > self._look_s:
                # By now another process may have taken what is left, and ended it: who was stopped reads again.
                self._inbox.arrived.set()
                return done
            try:
                await self._hand_over(one)
            except QueueError as error:
                # The others may still be taken.
                failed = error
        if failed is not None:
            raise failed
        return len(waiting)

    async def _hand_over(self, one: Waiting) -> None:
        new = await put_in_line(one.work, self._queue)
        log.info(
            "%s: %s", type(one.work).__name__, "queued" if new else "there already", extra={"delivery": one.delivery}
        )
        await self._inbox.submitted(one.delivery)


async def put_in_line(work: Work, queue: MissionQueue) -> bool:
    """Each kind of work where it belongs; False when it is there already.

    Raises:
        QueueError: the queue does not take it.
    """
    match work:
        case MissionRequest():
            return await queue.submit(work)
        case RedHead():
            return await queue.settle(work)
        case Command():
            return await queue.command(work)
        case Feedback():
            await queue.feed_back(work)
        case HeadMoved() | InstallationChange():
            await queue.notice(work)
    return True
