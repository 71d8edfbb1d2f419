"""Every delivery on disk before the answer; a delivery once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from bot.domain.delivery import Receipt
from bot.domain.request import Ignored
from bot.ports import Clock, Work
from bot.queue.inbox_table import BUSY_S, Entry, InboxTable, Waiting

MOST_AT_ONCE = 256
"""Deliveries written in one transaction."""

AskStatus = Callable[[str], Awaitable[str | None]]


class Inbox:
    """Deliveries in one SQLite file, write-ahead logged and synced: what was answered 202 is never lost.

    Those that come while the disk is busy with others are written together: one wait for the disk answers many.

    Args:
        path: The file.
        clock: Stamps the rows.
        status: Asks the queue how a mission is; a delivery of a failed mission is let through again.
        busy_s: How long to wait for another process's write.
    """

    def __init__(self, path: Path, clock: Clock, status: AskStatus | None = None, *, busy_s: float = BUSY_S) -> None:
        self._table = InboxTable(path, busy_s=busy_s)
        self._clock = clock
        self._status = status
        self._pending: list[tuple[Entry, asyncio.Future[Receipt]]] = []
        self._writing: asyncio.Task[None] | None = None
        self._moving: asyncio.Task[None] | None = None
        self.arrived = asyncio.Event()
        """Set when there is something to submit."""

    def open(self) -> None:
        """Open or create the file.

        Raises:
            QueueError: it cannot be written.
        """
        self._table.open()

    def close(self) -> None:
        """Close the file."""
        self._table.close()

    async def accept(self, delivery: str, event: str, action: str | None, decision: Work | Ignored) -> Receipt:
        """Write a delivery down and say what becomes of it.

        Raises:
            QueueError: it could not be written.
        """
        entry = Entry(
            delivery=delivery,
            event=event,
            action=action,
            decision=decision,
            received_at=self._clock.now().isoformat(),
        )
        receipt = await self._write(entry)
        mission = receipt.mission_id
        if receipt.result == "duplicate" and mission is not None and await self._has_failed(mission):
            receipt = await self._write(replace(entry, again=True))
        if receipt.result == "queued":
            self.arrived.set()
        return receipt

    async def waiting(self) -> tuple[Waiting, ...]:
        """What is on disk and not yet in the queue, oldest first."""
        return await asyncio.to_thread(self._table.waiting)

    async def submitted(self, delivery: str) -> None:
        """The queue has it now."""
        await asyncio.to_thread(self._table.mark, delivery)

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
        self._pending.append((entry, written))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_pending())
        return await written

    async def _write_pending(self) -> None:
        while self._pending:
            group, self._pending = self._pending[:MOST_AT_ONCE], self._pending[MOST_AT_ONCE:]
            write = asyncio.to_thread(self._table.write, [entry for entry, _ in group])
            (receipts,) = await asyncio.gather(write, return_exceptions=True)
            for number, (_, written) in enumerate(group):
                if written.done():
                    continue  # whoever asked went away; the delivery is on disk all the same
                if isinstance(receipts, BaseException):
                    written.set_exception(receipts)
                else:
                    written.set_result(receipts[number])
        if self._table.wants_checkpoint:
            self._moving = asyncio.create_task(asyncio.to_thread(self._table.checkpoint))
