"""Cleanup of stale mission rows, whose end could not be stored."""

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from bot.store.database import Database

AGE = timedelta(hours=1)
"""Age before which a row is not checked: its mission may be just ending."""
MOST = 1_000
"""Rows checked in one run; the rest follows in the next."""

_LIVE = "SELECT id, since FROM live WHERE ended = 0 AND since < :before ORDER BY since LIMIT :most"
_ENDED = "UPDATE live SET ended = 1 WHERE id = :id AND since = :since AND ended = 0"
"""The condition on `since` spares a mission that was restarted meanwhile."""

log = logging.getLogger(__name__)

AskStatus = Callable[[str], Awaitable[str | None]]


async def end_stale_rows(database: Database, status: AskStatus, now: datetime) -> tuple[str, ...]:
    """End the rows of missions that neither wait nor run; return their ids.

    Args:
        database: The database of our own tables.
        status: Returns a mission's status in the queue.
        now: The current time.

    Raises:
        StoreError: the database cannot be used.
        QueueError: the queue does not answer.
    """
    asked = {"before": (now - AGE).isoformat(), "most": MOST}
    ended = []
    for mission, since in await database.do(lambda tx: tx.execute(_LIVE, asked)):
        if await status(mission) in {"waiting", "running"}:
            continue
        row = {"id": mission, "since": since}
        if await database.do(lambda tx, row=row: tx.change(_ENDED, row)):  # type: ignore[misc]
            log.warning("cleanup: stale mission row ended", extra={"mission": mission})
            ended.append(mission)
    return tuple(ended)
