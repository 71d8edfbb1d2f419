"""Read-only views of databases; they create, change and lock nothing."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bot.errors import StoreError
from bot.store.database import SQLITE, Database, Row, is_postgres
from bot.store.opening import own_url

BUSY_S = 10.0
CHECK = "check METAAGENT_DATA_DIR and METAAGENT_DATABASE_URL"
"""Advice for a missing database."""


class View:
    """A consistent snapshot of a database.

    Args:
        ask: Runs a query without placeholders and returns its rows.
        is_postgres: True if tables are in schemas.
    """

    def __init__(self, ask: Callable[[str], list[Row]], *, is_postgres: bool) -> None:
        self.ask = ask
        self.is_postgres = is_postgres

    def table(self, schema: str, name: str) -> str | None:
        """Return a table's name for queries, or None if missing; both names must be literals."""
        if self.is_postgres:
            return (
                f"{schema}.{name}"
                if self.ask(f"SELECT to_regclass('{schema}.{name}')")[0][0] is not None
                else None
            )
        tables = self.ask("SELECT name FROM sqlite_master WHERE type = 'table'")
        return name if (name,) in tables else None

    def damage(self) -> str | None:
        """Return the damage that SQLite finds in its file, or None; PostgreSQL is not checked."""
        if self.is_postgres:
            return None
        verdict = str(self.ask("PRAGMA integrity_check(3)")[0][0])
        return None if verdict == "ok" else verdict


def file_of(url: str) -> Path | None:
    """Return the file of an SQLite database, or None for PostgreSQL."""
    return None if is_postgres(url) else Path(url.removeprefix(SQLITE))


def files_of(engine_url: str) -> tuple[Path, ...]:
    """Return the SQLite files of a service, ours first, existing or not; none for PostgreSQL."""
    return tuple(
        path for url in (own_url(engine_url), engine_url) if (path := file_of(url)) is not None
    )


@contextmanager
def viewing(url: str) -> Iterator[View]:
    """Open a view of a database; an SQLite file must exist.

    Raises:
        StoreError: the database cannot be read.
    """
    path = file_of(url)
    if path is None:
        database = Database(url)
        try:
            with database.transaction() as transaction:
                yield View(transaction.execute, is_postgres=True)
        finally:
            database.close()
        return
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)) as connection:
            connection.execute("PRAGMA query_only = 1")
            connection.execute("BEGIN")
            yield View(lambda sql: connection.execute(sql).fetchall(), is_postgres=False)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{path} cannot be read ({error})", "if this persists, restore a backup"
        ) from error
