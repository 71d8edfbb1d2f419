"""The inbox's rows, written in groups: each group is one transaction that is on disk when it returns."""

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
"""A delivery of a mission that failed waits once more."""
KNOWN = "SELECT id FROM delivery WHERE id IN ({})"
BODIES = "SELECT fingerprint FROM delivery WHERE fingerprint IN ({}) AND fingerprint IS NOT NULL"
LIVE = """
SELECT mission_id FROM delivery
WHERE mission_id IN ({}) AND mission_id IS NOT NULL AND state NOT IN ('ignored', 'duplicate')
"""
"""Said so that SQLite goes by the missions: everything that waits would be looked at for each group."""
WAITING = """
SELECT id, received_at, work FROM delivery WHERE state = 'waiting' AND work IS NOT NULL ORDER BY received_at, seq
"""
GIVEN_UP = "UPDATE delivery SET state = 'ignored', reason = 'not readable' WHERE id = :id AND state = 'waiting'"
SUBMITTED = "UPDATE delivery SET state = 'submitted' WHERE id = :id AND state = 'waiting'"
SETTLED = "DELETE FROM delivery WHERE state != 'waiting' AND received_at < :before"

MOST_ASKED = 256
"""Values of one question."""
CHECKPOINT_AFTER = 500
"""Groups in SQLite's write-ahead log before they are moved into the file; no delivery waits for that."""

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
_WORK: TypeAdapter[Work] = TypeAdapter(Work)


class Waiting(Frozen):
    """A delivery that is on disk and not yet in the queue."""

    delivery: str
    received_at: str
    work: Work


@dataclass(frozen=True, slots=True)
class Entry:
    """A delivery that is to be written down; its parts were checked where they were made."""

    delivery: str
    event: str
    action: str | None
    decision: Work | Ignored
    received_at: str
    fingerprint: str | None = None
    """Of its signed body."""
    again: bool = False
    """Its mission failed: let it through once more."""

    @property
    def mission_id(self) -> str | None:
        """The mission it asks for; other work is done once for each delivery."""
        return self.decision.mission_id if isinstance(self.decision, MissionRequest | RedHead) else None


class InboxTable:
    """The rows; every method may raise a QueueError, and may be called from any thread.

    Args:
        database: Where they are; of its own, so that no delivery waits for what others of this process do.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._file = database.url.removeprefix(SQLITE) if database.url.startswith(SQLITE) else None
        self._moving = threading.Lock()
        self._groups = 0
        self._open = False
        self._unread: set[str] = set()
        """Deliveries that cannot be read, and about which that was said."""

    def open(self) -> None:
        """Connect."""

        def begin(tx: Transaction) -> None:
            if self._file is not None:
                tx.execute("PRAGMA wal_autocheckpoint=0")  # `checkpoint` does it, beside the answers

        self._open = True
        self._run(begin)

    def close(self) -> None:
        """Close the connection."""
        self._open = False
        self._database.close()

    def write(self, entries: Sequence[Entry]) -> list[Receipt]:
        """Write deliveries down, all or none, and say what becomes of each."""
        receipts = self._run(lambda tx: _written(tx, entries))
        self._groups += 1
        return receipts

    @property
    def wants_checkpoint(self) -> bool:
        """Whether the write-ahead log has grown so far that it is to be moved into the file."""
        return self._file is not None and self._groups >= CHECKPOINT_AFTER

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file by a connection of its own: those who write do not wait for it."""
        if self._file is None or not self._moving.acquire(blocking=False):
            return
        try:
            self._groups = 0
            with closing(sqlite3.connect(self._file, isolation_level=None)) as database:
                database.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            log.warning("the inbox's log stays as long as it is: %s", error)
        finally:
            self._moving.release()

    def waiting(self, unread_since: str = "") -> tuple[bool, tuple[Waiting, ...]]:
        """What is not yet in the queue, oldest first; and whether what dead processes left is ours.

        Args:
            unread_since: What came before then (ISO 8601) and cannot be read here is given up, if it is ours to do so.
        """

        def read(tx: Transaction) -> tuple[bool, tuple[Waiting, ...]]:
            readable: list[Waiting] = []
            keeps = tx.keep("left")
            for delivery, received_at, work in tx.execute(WAITING):
                try:
                    parsed = _WORK.validate_json(work)
                except ValidationError:
                    # Written by another version of us; one such row must not hold up the others.
                    if keeps and received_at < unread_since:
                        log.exception("given up: no process could read it", extra={"delivery": delivery})
                        tx.change(GIVEN_UP, {"id": delivery})
                    else:
                        self._say_unread(delivery)
                else:
                    readable.append(Waiting(delivery=delivery, received_at=received_at, work=parsed))
            return keeps, tuple(readable)

        return self._run(read)

    def _say_unread(self, delivery: str) -> None:
        """A newer process wrote it, and hands it over; should it die, others of its version do."""
        if delivery not in self._unread:
            log.warning("it cannot be read here and waits for who can", extra={"delivery": delivery})
            self._unread.add(delivery)

    def mark(self, delivery: str) -> None:
        """The queue has it now."""
        self._run(lambda tx: tx.change(SUBMITTED, {"id": delivery}))

    def known(self, deliveries: Sequence[str]) -> frozenset[str]:
        """Which of these came in."""
        known: set[str] = set()
        for start in range(0, len(deliveries), MOST_ASKED):
            asked = deliveries[start : start + MOST_ASKED]
            known.update(self._run(partial(_found, query=KNOWN, values=asked)))
        return frozenset(known)

    def purge(self, before: str) -> int:
        """Forget what was settled before a moment (ISO 8601); how many."""
        return self._run(lambda tx: tx.change(SETTLED, {"before": before}))

    def _run(self, call: Callable[[Transaction], Answer]) -> Answer:
        if not self._open:
            raise QueueError("the inbox is closed")
        try:
            return self._database.run(call)
        except StoreError as error:
            raise QueueError(f"the inbox cannot be used: {error.message}", error.advice) from error


def _written(tx: Transaction, entries: Sequence[Entry]) -> list[Receipt]:
    """A few statements for all: of two groups with the same missions one comes after the other."""
    tx.alone("inbox")
    new = [entry for entry in entries if not entry.again]
    known = _found(tx, KNOWN, [entry.delivery for entry in new])
    bodies = _found(tx, BODIES, [entry.fingerprint for entry in new if entry.fingerprint is not None])
    live = _found(tx, LIVE, [entry.mission_id for entry in new if entry.mission_id is not None])
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


def _receipt(entry: Entry, known: set[str], bodies: set[str], live: set[str]) -> Receipt:
    """What becomes of it, given the deliveries and bodies that came and the missions that were asked for."""
    earlier = None
    if entry.again:
        pass
    elif entry.delivery in known:
        earlier = "this delivery came before"
    elif entry.fingerprint in bodies:
        # Without its mission: a replay must not begin a mission again that failed.
        return Receipt(delivery=entry.delivery, result="duplicate", reason="its body came before, under another id")
    elif entry.mission_id in live:
        earlier = "another check of the same commit asked before"
    if earlier is not None:
        return Receipt(delivery=entry.delivery, result="duplicate", reason=earlier, mission_id=entry.mission_id)
    if isinstance(entry.decision, Ignored):
        return Receipt(delivery=entry.delivery, result="ignored", reason=entry.decision.reason)
    return Receipt(delivery=entry.delivery, result="queued", mission_id=entry.mission_id)


def _row(entry: Entry, receipt: Receipt) -> dict[str, object]:
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


def _found(tx: Transaction, query: str, values: Sequence[str]) -> set[str]:
    """Those of the values that a query with one gap for all of them finds; at most MOST_ASKED."""
    if not values:
        return set()
    # A power of two, the last value again and again: few different statements, each is prepared once.
    asked = [*values, *[values[-1]] * ((1 << (len(values) - 1).bit_length()) - len(values))]
    gaps = ", ".join(f":v{number}" for number in range(len(asked)))
    found = tx.execute(query.format(gaps), {f"v{number}": value for number, value in enumerate(asked)})
    return {str(row[0]) for row in found}
