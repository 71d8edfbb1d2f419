"""The operator's pauses in the database, visible to every process within seconds."""

import logging
from collections.abc import Collection, Sequence

from pydantic import ValidationError

from bot.domain.pause import EVERYWHERE, Pause, enclosing_places
from bot.domain.registry import LiveMission
from bot.domain.request import RepositoryRef
from bot.ledger.counting import retry_while_unreachable
from bot.store.database import Database, Row, Transaction

RUNNING = (
    "SELECT live.id, live.value FROM work JOIN live ON live.id = work.mission"
    " WHERE live.ended = 0 AND work.begun = 1 ORDER BY live.seq"
)
"""Started missions; a failed one that waits for its retry is not among them."""
_ALONE = "pause"
"""Lock for pausing and for starting missions, so that no mission starts past a new pause.

Two concurrent transactions would not see each other's rows.
"""
_COLUMNS = "place, now, why, at"

log = logging.getLogger(__name__)


class Pauses:
    """The stored pauses, by place.

    Args:
        database: The database of our own tables.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unread: frozenset[str] = frozenset()
        """Unreadable missions that were already logged."""

    async def set(self, pause: Pause) -> None:
        """Pause a place; an existing pause of it is replaced.

        Raises:
            StoreError: the database cannot be used.
        """
        row = {"place": pause.place, "now": int(pause.now), "why": pause.why, "at": pause.at}
        query = (
            "INSERT INTO pause (place, now, why, at) VALUES (:place, :now, :why, :at)"
            " ON CONFLICT (place) DO UPDATE"
            " SET now = excluded.now, why = excluded.why, at = excluded.at"
        )

        def keep(transaction: Transaction) -> None:
            transaction.alone(_ALONE)
            transaction.change(query, row)

        await self._database.do(keep)

    async def end(self, place: str = EVERYWHERE) -> bool:
        """End the pause of a place. Return False if there was none.

        Raises:
            StoreError: the database cannot be used.
        """
        query = "DELETE FROM pause WHERE place = :place"
        return bool(
            await self._database.do(lambda transaction: transaction.change(query, {"place": place}))
        )

    async def all(self) -> tuple[Pause, ...]:
        """Return all pauses, the widest first.

        Raises:
            StoreError: the database cannot be used.
        """
        return await self._database.do(
            lambda transaction: _read(
                transaction.execute(f"SELECT {_COLUMNS} FROM pause ORDER BY place")  # noqa: S608
            )
        )

    async def of(self, repository: RepositoryRef) -> Pause | None:
        """Return the widest pause that covers a repository; waits for an unreachable server.

        Raises:
            StoreError: the database cannot be used.
        """
        places = enclosing_places(repository)
        return await retry_while_unreachable(
            self._database, lambda transaction: _widest(transaction, places)
        )

    async def running(self) -> tuple[LiveMission, ...]:
        """Return started missions that have not ended, oldest first.

        Missions written by a newer version may be skipped.

        Raises:
            StoreError: the database cannot be used.
        """
        missions, unread = await self._database.do(_running)
        for name in sorted(unread - self._unread):
            # A process of that newer version will stop it.
            log.warning("unreadable mission skipped", extra={"mission": name})
        self._unread = unread
        return missions


def pause_before(transaction: Transaction, places: Collection[str]) -> Pause | None:
    """Return the widest pause of some places, checked in the transaction that starts a mission."""
    transaction.alone(_ALONE)
    return _widest(transaction, places)


def _widest(transaction: Transaction, places: Collection[str]) -> Pause | None:
    values = {f"p{number}": place for number, place in enumerate(places)}
    gaps = ", ".join(f":{name}" for name in values)
    # A place sorts before the places inside it, so the widest pause comes first.
    query = f"SELECT {_COLUMNS} FROM pause WHERE place IN ({gaps}) ORDER BY place"  # noqa: S608 (our own gaps)
    return next(iter(_read(transaction.execute(query, values))), None)


def _running(transaction: Transaction) -> tuple[tuple[LiveMission, ...], frozenset[str]]:
    """Return the readable missions, and the ids of the others."""
    missions, unread = [], set()
    for name, value in transaction.execute(RUNNING):
        try:
            missions.append(LiveMission.model_validate_json(value))
        except ValidationError:
            unread.add(name)
    return tuple(missions), frozenset(unread)


def _read(rows: Sequence[Row]) -> tuple[Pause, ...]:
    return tuple(Pause(place=place, now=bool(now), why=why, at=at) for place, now, why, at in rows)
