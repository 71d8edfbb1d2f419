"""The dashboard issues in our database."""

from collections.abc import Callable
from contextlib import suppress

from pydantic import ValidationError

from bot.domain.registry import DashboardIssue
from bot.store.database import Database, Transaction

_SELECT = "SELECT value FROM dashboard_issue WHERE repository = :repository"
_WRITE = """
INSERT INTO dashboard_issue (repository, value) VALUES (:repository, :value)
ON CONFLICT (repository) DO UPDATE SET value = excluded.value
"""


class StoredDashboards:
    """The dashboard issues of all repositories; every method may raise a StoreError.

    Args:
        database: The database of our own tables.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, repository_id: int) -> DashboardIssue:
        """Return the state of a repository's issue; an empty one if another version wrote it."""
        return await self._database.do(lambda tx: _read(tx, repository_id))

    async def revise(
        self, repository_id: int, become: Callable[[DashboardIssue], DashboardIssue]
    ) -> bool:
        """Update the state of an issue in a transaction; return True if that changed it."""

        def look_and_write(tx: Transaction) -> bool:
            # On SQLite, a write transaction locks the whole database anyway.
            known = _read(tx, repository_id, lock="FOR UPDATE" if tx.is_postgres else "")
            revised = become(known)
            if revised == known:
                return False
            row = {"repository": repository_id, "value": revised.model_dump_json()}
            tx.execute(_WRITE, row)
            return True

        return await self._database.do(look_and_write)


def _read(tx: Transaction, repository_id: int, *, lock: str = "") -> DashboardIssue:
    rows = tx.execute(f"{_SELECT} {lock}", {"repository": repository_id})
    for (value,) in rows:
        with suppress(ValidationError):
            return DashboardIssue.model_validate_json(value)
    return DashboardIssue()
