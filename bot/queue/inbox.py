"""The inbox: stores every delivery on disk before it is acknowledged, and each one once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice

from bot.domain.delivery import Receipt
from bot.domain.request import Ignored
from bot.ports import Clock, Work
from bot.queue.inbox_table import MOST_ASKED, InboxEntry, InboxTable, WaitingDelivery
from bot.store.database import Database

MOST_AT_ONCE = MOST_ASKED
"""Deliveries written in one transaction."""
BUSY_S = 4.0
"""Timeout for another process's write lock, in seconds; GitHub waits ten for our answer."""
LEFT_S = 10.0
"""Age at which another process's unsubmitted delivery is taken over, in seconds."""

UNREAD = timedelta(days=3)
"""Time for which an unreadable delivery waits for a process of its version.

GitHub offers redelivery for the same time.
"""

AskStatus = Callable[[str], Awaitable[str | None]]


class Inbox:
    """Deliveries in the database: one that was answered with 202 is never lost.

    Deliveries that arrive during a write are written together by the next one. Several processes
    may accept deliveries. Each one submits its own, and one of them also those of dead processes.

    Args:
        database: A connection for the inbox alone, so that no delivery waits for other writes.
        clock: Time source for the rows.
        status: Returns a mission's status; a delivery for a failed mission is accepted again.
    """

    def __init__(self, database: Database, clock: Clock, status: AskStatus | None = None) -> None:
        self._table = InboxTable(database)
        self._clock = clock
        self._status = status
        self._pending: dict[asyncio.Future[Receipt], InboxEntry] = {}
        self._writing: asyncio.Task[None] | None = None
        self._moving: asyncio.Task[None] | None = None
        self._taken_in: set[str] = set()
        self._has_left = False
        self.arrived = asyncio.Event()
        """Set when deliveries are waiting to be submitted."""

    def open(self) -> None:
        """Connect and migrate the tables.

        Raises:
            QueueError: the database cannot be used.
        """
        self._table.open()

    def close(self) -> None:
        """Close the connection."""
        self._table.close()

    async def accept(  # noqa: PLR0917 -- one column each
        self,
        delivery: str,
        event: str,
        action: str | None,
        decision: Work | Ignored,
        fingerprint: str | None = None,
    ) -> Receipt:
        """Store a delivery and return its receipt.

        Args:
            delivery: GitHub's delivery id.
            event: The event's name.
            action: The event's action.
            decision: The work to do, or the reason to ignore the event.
            fingerprint: Digest of the signed body. The same body under another id is a duplicate,
                even if its mission failed: GitHub's own redelivery keeps the id.

        Raises:
            QueueError: the delivery could not be stored.
        """
        entry = InboxEntry(
            delivery=delivery,
            event=event,
            action=action,
            decision=decision,
            received_at=self._clock.now().isoformat(),
            fingerprint=fingerprint,
        )
        receipt = await self._write(entry)
        mission = receipt.mission_id
        if (
            receipt.result == "duplicate"
            and mission is not None
            and await self._has_failed(mission)
        ):
            receipt = await self._write(replace(entry, again=True))
        return receipt

    async def waiting(self) -> tuple[WaitingDelivery, ...]:
        """Return the deliveries that this process has to submit, oldest first."""
        had_left = self._has_left
        now = self._clock.now()
        self._has_left, found = await asyncio.to_thread(
            self._table.waiting, (now - UNREAD).isoformat()
        )
        if self._has_left and not had_left:
            return found  # this process has just taken over from a dead one
        before = (now - timedelta(seconds=LEFT_S)).isoformat()
        ours = [
            one
            for one in found
            if one.delivery in self._taken_in or (self._has_left and one.received_at < before)
        ]
        return tuple(ours)

    async def submitted(self, delivery: str) -> None:
        """Mark a delivery as submitted to the queue."""
        await asyncio.to_thread(self._table.mark, delivery)
        self._taken_in.discard(delivery)

    async def find_known(self, deliveries: Sequence[str]) -> frozenset[str]:
        """Return those of the given deliveries that were received."""
        return await asyncio.to_thread(self._table.find_known, deliveries)

    async def purge(self, older_than: timedelta) -> int:
        """Delete old settled deliveries and return their number.

        GitHub redelivers for three days.
        """
        return await asyncio.to_thread(
            self._table.purge, (self._clock.now() - older_than).isoformat()
        )

    async def _has_failed(self, mission: str) -> bool:
        return self._status is not None and await self._status(mission) == "failed"

    async def _write(self, entry: InboxEntry) -> Receipt:
        written: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._pending[written] = entry
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_pending())
        try:
            return await written
        finally:
            # The caller may have timed out: entries must not pile up while the database is
            # unavailable.
            self._pending.pop(written, None)

    async def _write_pending(self) -> None:
        while self._pending:
            group = dict(islice(self._pending.items(), MOST_AT_ONCE))
            for written in group:
                del self._pending[written]
            write = asyncio.to_thread(self._table.write, list(group.values()))
            (receipts,) = await asyncio.gather(write, return_exceptions=True)
            if not isinstance(receipts, BaseException):
                self._hand_over(receipts)
            for number, written in enumerate(group):
                if written.done():
                    continue  # the caller timed out; the delivery is stored all the same
                if isinstance(receipts, BaseException):
                    written.set_exception(receipts)
                else:
                    written.set_result(receipts[number])
        if self._table.wants_checkpoint:
            self._moving = asyncio.create_task(asyncio.to_thread(self._table.checkpoint))

    def _hand_over(self, receipts: Sequence[Receipt]) -> None:
        if queued := [receipt.delivery for receipt in receipts if receipt.result == "queued"]:
            self._taken_in.update(queued)
            self.arrived.set()
