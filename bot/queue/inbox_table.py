"""The inbox's table. Deliveries are written in groups, one durable transaction for each group."""

import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from bot.domain.delivery import Receipt
from bot.domain.request import Ignored, MissionRequest, RedHead
from bot.errors import QueueError, StoreError
from bot.ports import Work
from bot.store.database import SQLITE, Database, Transaction
from sandbox.types import Frozen

WRITE = """
INSERT INTO delivery (id, event, action, received_at, state, reason, mission_id, work, fingerprint)
VALUES (:id, :event, :action, :received_at, :state, :reason, :mission_id, :work, :fingerprint)
ON CONFLICT (id) DO UPDATE SET times = delivery.times + 1
"""
WRITE_AGAIN = WRITE + ", state = excluded.state, work = excluded.work, reason = excluded.reason"
"""Sets a delivery for a failed mission back to waiting."""
KNOWN = "SELECT id FROM delivery WHERE id IN ({})"
BODIES = "SELECT fingerprint FROM delivery WHERE fingerprint IN ({}) AND fingerprint IS NOT NULL"
LIVE = """
SELECT mission_id FROM delivery
WHERE mission_id IN ({}) AND mission_id IS NOT NULL AND state NOT IN ('ignored', 'duplicate')
"""
"""The NOT NULL makes SQLite use the index on missions instead of scanning all waiting rows."""
WAITING = """
SELECT id, received_at, work FROM delivery
WHERE state = 'waiting' AND work IS NOT NULL ORDER BY received_at, seq
"""
GIVEN_UP = (
    "UPDATE delivery SET state = 'ignored', reason = 'not readable'"
    " WHERE id = :id AND state = 'waiting'"
)
SUBMITTED = "UPDATE delivery SET state = 'submitted' WHERE id = :id AND state = 'waiting'"
SETTLED = "DELETE FROM delivery WHERE state != 'waiting' AND received_at < :before"

MOST_ASKED = 256
"""Values in one query."""
CHECKPOINT_AFTER = 500
"""Write groups in SQLite's write-ahead log before a checkpoint, which delays no delivery."""

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
_WORK: TypeAdapter[Work] = TypeAdapter(Work)


class WaitingDelivery(Frozen):
    """A stored delivery that is not yet in the queue."""

    delivery: str
    received_at: str
    work: Work


@dataclass(frozen=True, slots=True)
class InboxEntry:
    """A delivery to store; its parts are validated already."""

    delivery: str
    event: str
    action: str | None
    decision: Work | Ignored
    received_at: str
    fingerprint: str | None = None
    """Digest of the signed body."""
    again: bool = False
    """True if its mission failed and it is accepted again."""

    @property
    def mission_id(self) -> str | None:
        """Return the requested mission's id; other kinds of work have none."""
        return (
            self.decision.mission_id
            if isinstance(self.decision, MissionRequest | RedHead)
            else None
        )


class InboxTable:
    """The table of deliveries. Every method is thread-safe and may raise a QueueError.

    Args:
        database: A connection for this table alone, so that no delivery waits for other writes.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._file = database.url.removeprefix(SQLITE) if database.url.startswith(SQLITE) else None
        self._moving = threading.Lock()
        self._groups = 0
        self._open = False
        self._unread: set[str] = set()
        """Unreadable deliveries that were already logged."""

    def open(self) -> None:
        """Connect."""

        def begin(tx: Transaction) -> None:
            if self._file is not None:
                # `checkpoint` does it instead, beside the deliveries.
                tx.execute("PRAGMA wal_autocheckpoint=0")

        self._open = True
        self._run(begin)

    def close(self) -> None:
        """Close the connection."""
        self._open = False
        self._database.close()

    def write(self, entries: Sequence[InboxEntry]) -> list[Receipt]:
        """Store deliveries, all or none, and return a receipt for each."""
        receipts = self._run(lambda tx: _write_group(tx, entries))
        self._groups += 1
        return receipts

    @property
    def wants_checkpoint(self) -> bool:
        """Return True if the write-ahead log is due for a checkpoint."""
        return self._file is not None and self._groups >= CHECKPOINT_AFTER

    def checkpoint(self) -> None:
        """Checkpoint the write-ahead log on its own connection, so that writers do not wait."""
        if self._file is None or not self._moving.acquire(blocking=False):
            return
        try:
            self._groups = 0
            with closing(sqlite3.connect(self._file, isolation_level=None)) as database:
                database.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            log.warning("checkpoint of the inbox failed: %s", error)
        finally:
            self._moving.release()

    def waiting(self, unread_since: str = "") -> tuple[bool, tuple[WaitingDelivery, ...]]:
        """Return unsubmitted deliveries, oldest first, and whether this process recovers others'.

        Args:
            unread_since: ISO 8601 time; unreadable deliveries received before it are given up by
                the process that recovers others' deliveries.
        """

        def read(tx: Transaction) -> tuple[bool, tuple[WaitingDelivery, ...]]:
            readable: list[WaitingDelivery] = []
            keeps = tx.keep("left")
            for delivery, received_at, work in tx.execute(WAITING):
                try:
                    parsed = _WORK.validate_json(work)
                except ValidationError:
                    # Another version wrote this row; it must not block the others.
                    if keeps and received_at < unread_since:
                        log.exception(
                            "unreadable delivery expired, giving up", extra={"delivery": delivery}
                        )
                        tx.change(GIVEN_UP, {"id": delivery})
                    else:
                        self._say_unread(delivery)
                else:
                    readable.append(
                        WaitingDelivery(delivery=delivery, received_at=received_at, work=parsed)
                    )
            return keeps, tuple(readable)

        return self._run(read)

    def _say_unread(self, delivery: str) -> None:
        """Log an unreadable delivery once; a process of a newer version will submit it."""
        if delivery not in self._unread:
            log.warning(
                "unreadable delivery, left to a newer process", extra={"delivery": delivery}
            )
            self._unread.add(delivery)

    def mark(self, delivery: str) -> None:
        """Mark a delivery as submitted to the queue."""
        self._run(lambda tx: tx.change(SUBMITTED, {"id": delivery}))

    def find_known(self, deliveries: Sequence[str]) -> frozenset[str]:
        """Return those of the given deliveries that were received."""
        known: set[str] = set()
        for start in range(0, len(deliveries), MOST_ASKED):
            asked = deliveries[start : start + MOST_ASKED]
            known.update(self._run(partial(_select_known, query=KNOWN, values=asked)))
        return frozenset(known)

    def purge(self, before: str) -> int:
        """Delete deliveries settled before an ISO 8601 time; return their number."""
        return self._run(lambda tx: tx.change(SETTLED, {"before": before}))

    def _run(self, call: Callable[[Transaction], Answer]) -> Answer:
        if not self._open:
            raise QueueError("the inbox is closed")
        try:
            return self._database.run(call)
        except StoreError as error:
            raise QueueError(f"the inbox cannot be used: {error.message}", error.advice) from error


def _write_group(tx: Transaction, entries: Sequence[InboxEntry]) -> list[Receipt]:
    """Store a group in a few statements; a lock serializes groups of several processes."""
    tx.alone("inbox")
    new = [entry for entry in entries if not entry.again]
    known = _select_known(tx, KNOWN, [entry.delivery for entry in new])
    bodies = _select_known(
        tx, BODIES, [entry.fingerprint for entry in new if entry.fingerprint is not None]
    )
    live = _select_known(
        tx, LIVE, [entry.mission_id for entry in new if entry.mission_id is not None]
    )
    receipts = []
    rows: dict[bool, list[dict[str, object]]] = {False: [], True: []}
    for entry in entries:
        receipt = _receipt(entry, known, bodies, live)
        known.add(entry.delivery)
        if entry.fingerprint is not None:
            bodies.add(entry.fingerprint)
        if receipt.result == "queued" and receipt.mission_id is not None:
            live.add(receipt.mission_id)
        receipts.append(receipt)
        rows[entry.again].append(_row(entry, receipt))
    tx.execute(WRITE, rows[False])
    tx.execute(WRITE_AGAIN, rows[True])
    return receipts


def _receipt(entry: InboxEntry, known: set[str], bodies: set[str], live: set[str]) -> Receipt:
    """Return the receipt of an entry, given the known deliveries, bodies and live missions."""
    earlier = None
    if entry.again:
        pass
    elif entry.delivery in known:
        earlier = "this delivery came before"
    elif entry.fingerprint in bodies:
        # No mission id here: a replayed body must not restart a failed mission.
        return Receipt(
            delivery=entry.delivery,
            result="duplicate",
            reason="its body came before, under another id",
        )
    elif entry.mission_id in live:
        earlier = "another check of the same commit asked before"
    if earlier is not None:
        return Receipt(
            delivery=entry.delivery, result="duplicate", reason=earlier, mission_id=entry.mission_id
        )
    if isinstance(entry.decision, Ignored):
        return Receipt(delivery=entry.delivery, result="ignored", reason=entry.decision.reason)
    return Receipt(delivery=entry.delivery, result="queued", mission_id=entry.mission_id)


def _row(entry: InboxEntry, receipt: Receipt) -> dict[str, object]:
    queued = receipt.result == "queued"
    return {
        "id": entry.delivery,
        "event": entry.event,
        "action": entry.action,
        "received_at": entry.received_at,
        "state": "waiting" if queued else receipt.result,
        "reason": receipt.reason,
        "mission_id": receipt.mission_id,
        "work": entry.decision.model_dump_json() if queued else None,
        "fingerprint": entry.fingerprint,
    }


def _select_known(tx: Transaction, query: str, values: Sequence[str]) -> set[str]:
    """Return those of the values that a query finds; at most MOST_ASKED values."""
    if not values:
        return set()
    # Pad to a power of two with the last value: few distinct statements, each prepared once.
    asked = [*values, *[values[-1]] * ((1 << (len(values) - 1).bit_length()) - len(values))]
    gaps = ", ".join(f":v{number}" for number in range(len(asked)))
    found = tx.execute(
        query.format(gaps), {f"v{number}": value for number, value in enumerate(asked)}
    )
    return {str(row[0]) for row in found}
