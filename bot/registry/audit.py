"""The audit log in our database: every write to GitHub and every action of a person."""

import logging

from bot.domain.mission_record import AuditEntry
from bot.errors import StoreError
from bot.ports import Readable
from bot.registry.missions import only_readable
from bot.store.database import Database

MOST = 1_000
"""Most entries in one answer."""

_FIELDS = tuple(AuditEntry.model_fields)
_COLUMNS = ", ".join(_FIELDS)
_GAPS = ", ".join(f":{name}" for name in _FIELDS)
_INSERT = f"INSERT INTO audit ({_COLUMNS}) VALUES ({_GAPS})"  # noqa: S608 -- our own names

log = logging.getLogger(__name__)


class StoredAudit:
    """The audit log of all repositories.

    Args:
        database: The database of our own tables.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, entry: AuditEntry) -> None:
        """Add an entry, and log it; a failed write is logged as well."""
        row = entry.model_dump()
        log.info("audit", extra={name: value for name, value in row.items() if value != ""})
        try:
            await self._database.do(lambda tx: tx.execute(_INSERT, row))
        except StoreError as error:
            log.warning("storing the audit entry failed: %s", error.message)

    async def entries(
        self, *, since: str = "", mission: str = "", limit: int = 100, readable: Readable = None
    ) -> tuple[AuditEntry, ...]:
        """Return the newest entries first.

        Raises:
            StoreError: they cannot be read.
        """
        where = "at >= :since" + (" AND mission = :mission" if mission else "")
        query = (
            f"SELECT {_COLUMNS} FROM audit WHERE {where}{only_readable(readable)}"  # noqa: S608
            " ORDER BY seq DESC LIMIT :most"
        )
        values = {"since": since, "mission": mission, "most": min(limit, MOST)}
        rows = await self._database.do(lambda tx: tx.execute(query, values))
        return tuple(
            AuditEntry.model_validate(dict(zip(_FIELDS, row, strict=True))) for row in rows
        )
