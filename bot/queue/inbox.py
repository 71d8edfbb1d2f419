"""Every delivery on disk before the answer; a delivery once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice

from bot.domain.delivery import Receipt
from bot.domain.request import Ignored
from bot.ports import Clock, Work
from bot.queue.inbox_table import MOST_ASKED, Entry, InboxTable, Waiting
from bot.store.database import Database

MOST_AT_ONCE = MOST_ASKED
"""Deliveries written in one transaction."""
BUSY_S = 4.0
"""The longest wait for another process's write: well below the time GitHub gives us for an answer."""
LEFT_S = 10.0
"""After so long a delivery that another process took in, and did not hand over, is ours: that process died."""

UNREAD = timedelta(days=3)
"""So long what cannot be read waits for a process of the version that wrote it: GitHub delivers no longer, either."""

AskStatus = Callable[[str], Awaitable[str | None]]


class Inbox:
    """Deliveries in the database, on its disk: what was answered 202 is never lost.

    Those that come while the disk is busy with others are written together: one wait for the disk answers many.
    Several processes may take deliveries in; each hands over its own, and one of them also those of the dead.

    Args:
        database: Ours, opened for the inbox alone, so that no delivery waits for what else this process writes.
        clock: Stamps the rows.
        status: Asks the queue how a mission is; a delivery of a failed mission is let through again.
    """

    def __init__(self, database: Database, clock: Clock, status: AskStatus | None = None) -> None:
        self._table = InboxTable(database)
        self._clock = clock
        self._status = status
        self._pending: dict[asyncio.Future[Receipt], Entry] = {}
        self._writing: asyncio.Task[None] | None = None
        self._moving: asyncio.Task[None] | None = None
        self._taken_in: set[str] = set()
        self._has_left = False
        self.arrived = asyncio.Event()
        """Set when there is something to submit."""

    def open(self) -> None:
        """Connect, and bring the tables up to date.

        Raises:
            QueueError: the database cannot be used.
        """
        self._table.open()

    def close(self) -> None:
        """Close the connection."""
        self._table.close()

    async def accept(  # noqa: PLR0917 -- one column each
        self, delivery: str, event: str, action: str | None, decision: Work | Ignored, fingerprint: str | None = None
    ) -> Receipt:
        """Write a delivery down and say what becomes of it.

        Args:
            delivery: GitHub's id.
            event: Its event.
            action: The event's action.
            decision: Work, or why there is none.
            fingerprint: Of the signed body. The same one under another id is a duplicate, also of a mission that
                failed: GitHub keeps the id when it delivers again.

        Raises:
            QueueError: it could not be written.
        """
        entry = Entry(
            delivery=delivery,
            event=event,
            action=action,
            decision=decision,
            received_at=self._clock.now().isoformat(),
            fingerprint=fingerprint,
        )
        receipt = await self._write(entry)
        mission = receipt.mission_id
        if receipt.result == "duplicate" and mission is not None and await self._has_failed(mission):
            receipt = await self._write(replace(entry, again=True))
        return receipt

    async def waiting(self) -> tuple[Waiting, ...]:
        """What is on disk, not yet in the queue and ours to put there, oldest first."""
        had_left = self._has_left
        now = self._clock.now()
        self._has_left, found = await asyncio.to_thread(self._table.waiting, (now - UNREAD).isoformat())
        if self._has_left and not had_left:
            return found  # whoever had what is left before us is dead
        before = (now - timedelta(seconds=LEFT_S)).isoformat()
        ours = [one for one in found if one.delivery in self._taken_in or (self._has_left and one.received_at < before)]
        return tuple(ours)

    async def submitted(self, delivery: str) -> None:
        """The queue has it now."""
        await asyncio.to_thread(self._table.mark, delivery)
        self._taken_in.discard(delivery)

    async def known(self, deliveries: Sequence[str]) -> frozenset[str]:
        """Which of these deliveries came in."""
        return await asyncio.to_thread(self._table.known, deliveries)

    async def purge(self, older_than: timedelta) -> int:
        """Forget settled deliveries; how many. GitHub offers redelivery for three days."""
        return await asyncio.to_thread(self._table.purge, (self._clock.now() - older_than).isoformat())

    async def _has_failed(self, mission: str) -> bool:
        return self._status is not None and await self._status(mission) == "failed"

    async def _write(self, entry: Entry) -> Receipt:
        written: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._pending[written] = entry
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_pending())
        try:
            return await written
        finally:
            # Whoever asked may have given up: while a server is silent nothing piles up behind it.
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
                    continue  # whoever asked went away; the delivery is on disk all the same
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
