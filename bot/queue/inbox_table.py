"""The inbox's rows: one SQLite file, written in groups, each group one transaction that is on disk when it returns."""

import logging
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from bot.domain.delivery import Receipt
from bot.domain.request import Ignored, MissionRequest, RedHead
from bot.errors import QueueError
from bot.ports import Work
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

WRITE = """
INSERT INTO delivery (id, event, action, received_at, state, reason, mission_id, work)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET times = times + 1
"""
WRITE_AGAIN = WRITE + ", state = excluded.state, work = excluded.work, reason = excluded.reason"
"""A delivery of a mission that failed waits once more."""

BUSY_S = 4.0
"""Well below the time GitHub gives us for an answer."""

CHECKPOINT_AFTER = 500
"""Groups in the write-ahead log before they are moved into the file; no delivery waits for that."""

log = logging.getLogger(__name__)

_WORK: TypeAdapter[Work] = TypeAdapter(Work)


class Waiting(Frozen):
    """A delivery that is on disk and not yet in the queue."""

    delivery: str
    work: Work


@dataclass(frozen=True, slots=True)
class Entry:
    """A delivery that is to be written down; its parts were checked where they were made."""

    delivery: str
    event: str
    action: str | None
    decision: Work | Ignored
    received_at: str
    again: bool = False
    """Its mission failed: let it through once more."""

    @property
    def mission_id(self) -> str | None:
        """The mission it asks for; other work is done once for each delivery."""
        return self.decision.mission_id if isinstance(self.decision, MissionRequest | RedHead) else None


class InboxTable:
    """The file; every method may raise a QueueError, and may be called from any thread.

    Args:
        path: The file.
        busy_s: How long to wait for somebody else's write.
    """

    def __init__(self, path: Path, *, busy_s: float = BUSY_S) -> None:
        self._path = path
        self._busy_s = busy_s
        self._lock = threading.Lock()
        self._moving = threading.Lock()
        self._groups = 0
        self._database: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open or create the file."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self._path, timeout=self._busy_s, isolation_level=None, check_same_thread=False)
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=FULL")
            database.execute("PRAGMA wal_autocheckpoint=0")  # `checkpoint` does it, beside the answers
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

    def write(self, entries: Sequence[Entry]) -> list[Receipt]:
        """Write deliveries down, all or none, and say what becomes of each."""
        with self._transaction() as database:
            receipts = [_written(database, entry) for entry in entries]
        self._groups += 1
        return receipts

    @property
    def wants_checkpoint(self) -> bool:
        """Whether the write-ahead log has grown so far that it is to be moved into the file."""
        return self._groups >= CHECKPOINT_AFTER

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file by a connection of its own: those who write do not wait for it."""
        if not self._moving.acquire(blocking=False):
            return
        try:
            self._groups = 0
            with closing(sqlite3.connect(self._path, timeout=self._busy_s, isolation_level=None)) as database:
                database.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            log.warning("the inbox's log stays as long as it is: %s", error)
        finally:
            self._moving.release()

    def waiting(self) -> tuple[Waiting, ...]:
        """What is not yet in the queue, oldest first."""
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

    def mark(self, delivery: str) -> None:
        """The queue has it now."""
        with self._transaction() as database:
            database.execute("UPDATE delivery SET state = 'submitted' WHERE id = ? AND state = 'waiting'", (delivery,))

    def known(self, deliveries: Sequence[str]) -> frozenset[str]:
        """Which of these came in."""
        with self._transaction() as database:
            found = [database.execute("SELECT id FROM delivery WHERE id = ?", (one,)).fetchone() for one in deliveries]
        return frozenset(str(row[0]) for row in found if row is not None)

    def purge(self, before: str) -> int:
        """Forget what was settled before a moment (ISO 8601); how many."""
        with self._transaction() as database:
            return database.execute(
                "DELETE FROM delivery WHERE state != 'waiting' AND received_at < ?", (before,)
            ).rowcount

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


def _written(database: sqlite3.Connection, entry: Entry) -> Receipt:
    earlier = None if entry.again else _duplicate(database, entry.delivery, entry.mission_id)
    if earlier is not None:
        receipt = Receipt(delivery=entry.delivery, result="duplicate", reason=earlier, mission_id=entry.mission_id)
    elif isinstance(entry.decision, Ignored):
        receipt = Receipt(delivery=entry.delivery, result="ignored", reason=entry.decision.reason)
    else:
        receipt = Receipt(delivery=entry.delivery, result="queued", mission_id=entry.mission_id)
    queued = receipt.result == "queued" and not isinstance(entry.decision, Ignored)
    database.execute(
        WRITE_AGAIN if entry.again else WRITE,
        (
            entry.delivery,
            entry.event,
            entry.action,
            entry.received_at,
            "waiting" if queued else receipt.result,
            receipt.reason,
            receipt.mission_id,
            entry.decision.model_dump_json() if queued else None,
        ),
    )
    return receipt


def _duplicate(database: sqlite3.Connection, delivery: str, mission: str | None) -> str | None:
    """Why this is a duplicate, if it is."""
    if database.execute("SELECT 1 FROM delivery WHERE id = ?", (delivery,)).fetchone() is not None:
        return "this delivery came before"
    if mission is None:
        return None
    live = "SELECT 1 FROM delivery WHERE mission_id = ? AND state IN ('waiting', 'submitted')"
    if database.execute(live, (mission,)).fetchone() is not None:
        return "another check of the same commit asked before"
    return None
