"""Hands deliveries from the inbox to the queue, including those of dead processes."""

import asyncio
import logging
from contextlib import suppress

from bot.domain.command import Command
from bot.domain.request import (
    DashboardTouched,
    Feedback,
    HeadMoved,
    InstallationChange,
    MissionRequest,
    PullRequestOpened,
    RedHead,
)
from bot.errors import QueueError
from bot.ports import MissionQueue, Work
from bot.queue.inbox import LEFT_S, Inbox
from bot.queue.inbox_table import WaitingDelivery

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0


class Dispatcher:
    """Enqueues waiting deliveries until cancelled.

    A delivery is marked as submitted only after the queue has stored it, and the queue stores a
    mission once. So a crash between the two steps, or two processes handing over the same delivery,
    does no harm.

    Args:
        inbox: Source of the deliveries.
        queue: Target queue.
        look_s: Interval for checking deliveries left by other processes, in seconds.
    """

    def __init__(self, inbox: Inbox, queue: MissionQueue, *, look_s: float = LEFT_S) -> None:
        self._inbox = inbox
        self._queue = queue
        self._look_s = look_s

    async def run(self) -> None:
        """Deliver in a loop, first what is already there."""
        pause = FIRST_PAUSE_S
        while True:
            self._inbox.arrived.clear()
            try:
                await self.deliver()
            except QueueError as error:
                log.warning("queue unavailable, retrying in %.1f s: %s", pause, error.message)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)
                continue
            pause = FIRST_PAUSE_S
            with suppress(TimeoutError):
                await asyncio.wait_for(self._inbox.arrived.wait(), self._look_s)

    async def deliver(self) -> int:
        """Enqueue all waiting deliveries and return their number.

        Raises:
            QueueError: the queue or the inbox is unavailable.
        """
        waiting = await self._inbox.waiting()
        read_at = asyncio.get_running_loop().time()
        failed: QueueError | None = None
        # Commands first: after an outage, people should not wait behind webhooks.
        for done, one in enumerate(
            sorted(waiting, key=lambda one: not isinstance(one.work, Command))
        ):
            if asyncio.get_running_loop().time() - read_at > self._look_s:
                # The list is stale: another process may have handed over and finished the rest.
                # Read it again.
                self._inbox.arrived.set()
                return done
            try:
                await self._hand_over(one)
            except QueueError as error:
                # The other deliveries may still succeed.
                failed = error
        if failed is not None:
            raise failed
        return len(waiting)

    async def _hand_over(self, one: WaitingDelivery) -> None:
        new = await enqueue_work(one.work, self._queue)
        log.info(
            "%s: %s",
            type(one.work).__name__,
            "enqueued" if new else "already enqueued",
            extra={"delivery": one.delivery},
        )
        await self._inbox.submitted(one.delivery)


async def enqueue_work(work: Work, queue: MissionQueue) -> bool:
    """Enqueue each kind of work in its queue; return False if it is already there.

    Raises:
        QueueError: the queue is unavailable.
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
        case HeadMoved() | PullRequestOpened() | InstallationChange() | DashboardTouched():
            await queue.notice(work)
    return True
