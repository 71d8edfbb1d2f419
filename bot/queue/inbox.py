"""Every delivery on disk before the answer; a delivery once."""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from bot.domain.delivery import Receipt
from bot.domain.request import Feedback, Ignored, MissionRequest
from bot.errors import QueueError
from bot.ports import Clock
from sandbox.types import Frozen

SCHEMA = """
CREATE TABLE IF NOT EXISTS delivery (
    id TEXT PRIMARY KEY,
    event TEXT NOT NULL,
    action TEXT,
    received_at TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'submitted', 'ignored', 'duplicate')),
    reason TEXT NOT NULL DEFAULT '',
    mission_id TEXT,
    work TEXT,
    times INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX IF NOT EXISTS delivery_by_mission ON delivery (mission_id) WHERE mission_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS delivery_by_state ON delivery (state, received_at);
"""

_INSERT = """
INSERT INTO delivery (id, event, action, received_at, state, reason, mission_id, work)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET times = times + 1
"""
WRITE = _INSERT
WRITE_AGAIN = _INSERT + ", state = excluded.state, work = excluded.work, reason = excluded.reason"
"""A delivery of a mission that failed waits once more."""

BUSY_S = 4.0
"""How long to wait for somebody else's write; well below the time GitHub gives us."""

log = logging.getLogger(__name__)

AskStatus = Callable[[str], Awaitable[str | None]]
Work = MissionRequest | Feedback
_WORK: TypeAdapter[Work] = TypeAdapter(Work)


class Waiting(Frozen):
    """A delivery that is on disk and not yet in the queue."""

    delivery: str
    work: MissionRequest | Feedback


class Inbox:
    """Deliveries in one SQLite file, write-ahead logged and synced: what was answered 202 is never lost.

    Args:
        path: The file.
        clock: Stamps the rows.
        status: Asks the queue how a mission is; a delivery of a failed mission is let through again.
    """

    def __init__(self, path: Path, clock: Clock, status: AskStatus | None = None) -> None:
        self._path = path
        self._clock = clock
        self._status = status
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self.arrived = asyncio.Event()
        """Set when there is something to submit."""

    def open(self) -> None:
        """Open or create the file.

        Raises:
            QueueError: it cannot be written.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=FULL")
            database.executescript(SCHEMA)
        except (sqlite3.Error, OSError) as error:
            raise QueueError(f"the inbox {self._path} cannot be opened: {error}", "check METAAGENT_DATA_DIR") from error
        self._database = database

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    async def accept(
        self, delivery: str, event: str, action: str | None, decision: MissionRequest | Feedback | Ignored
    ) -> Receipt:
        """Write a delivery down and say what becomes of it.

        Raises:
            QueueError: it could not be written.
        """
        mission = decision.mission_id if isinstance(decision, MissionRequest) else None
        earlier = await asyncio.to_thread(self._earlier, delivery, mission)
        again = mission is not None and earlier is not None and await self._has_failed(mission)
        if earlier is not None and not again:
            receipt = Receipt(delivery=delivery, result="duplicate", reason=earlier, mission_id=mission)
        elif isinstance(decision, Ignored):
            receipt = Receipt(delivery=delivery, result="ignored", reason=decision.reason)
        else:
            receipt = Receipt(delivery=delivery, result="queued", mission_id=mission)
        work = None if isinstance(decision, Ignored) else decision
        written = await asyncio.to_thread(self._write, receipt, (event, action), work, again=again)
        if written.result == "queued":
            self.arrived.set()
        return written

    async def waiting(self) -> tuple[Waiting, ...]:
        """What is on disk and not yet in the queue, oldest first."""
        return await asyncio.to_thread(self._waiting)

    async def submitted(self, delivery: str) -> None:
        """The queue has it now."""
        await asyncio.to_thread(self._mark, delivery)

    async def purge(self, older_than: timedelta) -> int:
        """Forget settled deliveries; how many. GitHub offers redelivery for three days."""
        return await asyncio.to_thread(self._purge, (self._clock.now() - older_than).isoformat())

    async def _has_failed(self, mission: str) -> bool:
        return self._status is not None and await self._status(mission) == "failed"

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._database is None:
                raise QueueError("the inbox is closed")
            try:
                self._database.execute("BEGIN IMMEDIATE")
                try:
                    yield self._database
                except BaseException:
                    self._database.execute("ROLLBACK")
                    raise
                self._database.execute("COMMIT")
            except sqlite3.Error as error:
                raise QueueError(
                    f"the inbox cannot be written: {error}", "check the disk of METAAGENT_DATA_DIR"
                ) from error

    def _earlier(self, delivery: str, mission: str | None) -> str | None:
        """Why this is a duplicate, if it is."""
        with self._transaction() as database:
            return _duplicate(database, delivery, mission)

    def _write(self, receipt: Receipt, what: tuple[str, str | None], work: Work | None, *, again: bool) -> Receipt:
        with self._transaction() as database:
            if receipt.result != "duplicate" and not again:
                # Another delivery may have been written since we looked.
                reason = _duplicate(database, receipt.delivery, receipt.mission_id)
                if reason is not None:
                    receipt = receipt.with_(result="duplicate", reason=reason)
            state = {"queued": "waiting"}.get(receipt.result, receipt.result)
            keeps = receipt.result == "queued" and work is not None
            database.execute(
                WRITE_AGAIN if again else WRITE,
                (
                    receipt.delivery,
                    *what,
                    self._clock.now().isoformat(),
                    state,
                    receipt.reason,
                    receipt.mission_id,
                    work.model_dump_json() if keeps and work is not None else None,
                ),
            )
            return receipt

    def _waiting(self) -> tuple[Waiting, ...]:
        with self._transaction() as database:
            rows = database.execute(
                "SELECT id, work FROM delivery WHERE state = 'waiting' AND work IS NOT NULL ORDER BY received_at, rowid"
            ).fetchall()
            readable: list[Waiting] = []
            for delivery, work in rows:
                try:
                    readable.append(Waiting(delivery=delivery, work=_WORK.validate_json(work)))
                except ValidationError:
                    # Written by another version of us; one such row must not hold up the others.
                    log.exception("delivery %s can no longer be read and is given up", delivery)
                    database.execute(
                        "UPDATE delivery SET state = 'ignored', reason = 'no longer readable' WHERE id = ?", (delivery,)
                    )
        return tuple(readable)

    def _mark(self, delivery: str) -> None:
        with self._transaction() as database:
            database.execute("UPDATE delivery SET state = 'submitted' WHERE id = ? AND state = 'waiting'", (delivery,))

    def _purge(self, before: str) -> int:
        with self._transaction() as database:
            return database.execute(
                "DELETE FROM delivery WHERE state != 'waiting' AND received_at < ?", (before,)
            ).rowcount


def _duplicate(database: sqlite3.Connection, delivery: str, mission: str | None) -> str | None:
    if database.execute("SELECT 1 FROM delivery WHERE id = ?", (delivery,)).fetchone() is not None:
        return "this delivery came before"
    if mission is None:
        return None
    live = "SELECT 1 FROM delivery WHERE mission_id = ? AND state IN ('waiting', 'submitted')"
    if database.execute(live, (mission,)).fetchone() is not None:
        return "another check of the same commit asked before"
    return None
