"""The operator's kill switch in the database, where every process sees it within seconds."""

import logging
from collections.abc import Collection, Sequence

from pydantic import ValidationError

from bot.domain.pause import EVERYWHERE, Pause, places_of
from bot.domain.registry import LiveMission
from bot.domain.request import RepositoryRef
from bot.ledger.counting import patiently
from bot.store.database import Database, Row, Transaction

RUNNING = (
    "SELECT live.id, live.value FROM work JOIN live ON live.id = work.mission"
    " WHERE live.ended = 0 AND work.begun = 1 ORDER BY live.seq"
)
"""One that failed and is in line again has a row of its earlier try, and waits like the others."""
_ALONE = "pause"
"""Who pauses and who begins a mission wait for each other: else a mission could begin that neither of them saw."""
_COLUMNS = "place, now, why, at"

log = logging.getLogger(__name__)


class Pauses:
    """What is paused, by place.

    Args:
        database: Of our own tables.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unread: frozenset[str] = frozenset()
        """Missions that cannot be read, and about which that was said."""

    async def set(self, pause: Pause) -> None:
        """No mission begins there any more; the same place again replaces it.

        Raises:
            StoreError: the database cannot be used.
        """
        row = {"place": pause.place, "now": int(pause.now), "why": pause.why, "at": pause.at}
        query = (
            "INSERT INTO pause (place, now, why, at) VALUES (:place, :now, :why, :at)"
            " ON CONFLICT (place) DO UPDATE SET now = excluded.now, why = excluded.why, at = excluded.at"
        )

        def keep(transaction: Transaction) -> None:
            transaction.alone(_ALONE)
            transaction.change(query, row)

        await self._database.do(keep)

    async def end(self, place: str = EVERYWHERE) -> bool:
        """Missions begin there again; False when it was not paused.

        Raises:
            StoreError: the database cannot be used.
        """
        query = "DELETE FROM pause WHERE place = :place"
        return bool(await self._database.do(lambda transaction: transaction.change(query, {"place": place})))

    async def all(self) -> tuple[Pause, ...]:
        """Everything that is paused, the widest first.

        Raises:
            StoreError: the database cannot be used.
        """
        return await self._database.do(
            lambda transaction: _read(transaction.execute(f"SELECT {_COLUMNS} FROM pause ORDER BY place"))  # noqa: S608
        )

    async def of(self, repository: RepositoryRef) -> Pause | None:
        """The widest pause a repository is in; a server that is away is waited for.

        Raises:
            StoreError: the database cannot be used.
        """
        places = places_of(repository)
        return await patiently(self._database, lambda transaction: _widest(transaction, places))

    async def running(self) -> tuple[LiveMission, ...]:
        """The missions that have begun and not ended, oldest first; one that a newer version wrote may be left out.

        Raises:
            StoreError: the database cannot be used.
        """
        missions, unread = await self._database.do(_running)
        for name in sorted(unread - self._unread):
            # A process of the version that wrote it stops it.
            log.warning("it runs and cannot be read, so it is passed over here", extra={"mission": name})
        self._unread = unread
        return missions


def pause_before(transaction: Transaction, places: Collection[str]) -> Pause | None:
    """The widest pause of some places, before a mission begins there in the same transaction."""
    transaction.alone(_ALONE)
    return _widest(transaction, places)


def _widest(transaction: Transaction, places: Collection[str]) -> Pause | None:
    values = {f"p{number}": place for number, place in enumerate(places)}
    gaps = ", ".join(f":{name}" for name in values)
    query = f"SELECT {_COLUMNS} FROM pause WHERE place IN ({gaps}) ORDER BY place"  # noqa: S608 (our own gaps)
    return next(iter(_read(transaction.execute(query, values))), None)


def _running(transaction: Transaction) -> tuple[tuple[LiveMission, ...], frozenset[str]]:
    """What can be read, and the ids of the rest."""
    missions, unread = [], set()
    for name, value in transaction.execute(RUNNING):
        try:
            missions.append(LiveMission.model_validate_json(value))
        except ValidationError:
            unread.add(name)
    return tuple(missions), frozenset(unread)


def _read(rows: Sequence[Row]) -> tuple[Pause, ...]:
    return tuple(Pause(place=place, now=bool(now), why=why, at=at) for place, now, why, at in rows)
