"""Missions that are still said to be under way though the queue knows better: their end could not be written down."""

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from bot.store.database import Database

AGE = timedelta(hours=1)
"""Who began later may be about to end."""
MOST = 1_000
"""Looked at in one go; the rest comes with the next."""

_LIVE = "SELECT id, since FROM live WHERE ended = 0 AND since < :before ORDER BY since LIMIT :most"
_ENDED = "UPDATE live SET ended = 1 WHERE id = :id AND since = :since AND ended = 0"
"""Who was begun anew meanwhile began later."""

log = logging.getLogger(__name__)

AskStatus = Callable[[str], Awaitable[str | None]]


async def end_ghosts(database: Database, status: AskStatus, now: datetime) -> tuple[str, ...]:
    """End what neither waits nor runs; the ids.

    Args:
        database: Of our own tables.
        status: Asks the queue how a mission is.
        now: The wall clock.

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
            log.warning("its end was not written down; it is now", extra={"mission": mission})
            ended.append(mission)
    return tuple(ended)
