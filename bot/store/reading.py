"""Looks at databases as they are: makes nothing, changes nothing, holds nobody up."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bot.errors import StoreError
from bot.store.database import SQLITE, Database, Row, is_postgres
from bot.store.opening import own_url

BUSY_S = 10.0
CHECK = "check METAAGENT_DATA_DIR and METAAGENT_DATABASE_URL"
"""What to do where no database is."""


class View:
    """One moment of a database.

    Args:
        ask: A query without gaps: its rows.
        is_postgres: Whether tables are in schemas.
    """

    def __init__(self, ask: Callable[[str], list[Row]], *, is_postgres: bool) -> None:
        self.ask = ask
        self.is_postgres = is_postgres

    def table(self, schema: str, name: str) -> str | None:
        """What a table is called in a query, if it is there; both names are literals of ours."""
        if self.is_postgres:
            return f"{schema}.{name}" if self.ask(f"SELECT to_regclass('{schema}.{name}')")[0][0] is not None else None
        found = self.ask(f"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{name}'")  # noqa: S608
        return name if found else None

    def damage(self) -> str | None:
        """What SQLite finds wrong in the file, if anything; PostgreSQL looks after itself."""
        if self.is_postgres:
            return None
        verdict = str(self.ask("PRAGMA integrity_check(3)")[0][0])
        return None if verdict == "ok" else verdict


def file_of(url: str) -> Path | None:
    """The file of an SQLite database; None for PostgreSQL."""
    return None if is_postgres(url) else Path(url.removeprefix(SQLITE))


def files_of(engine_url: str) -> tuple[Path, ...]:
    """The SQLite files of a service, ours before the engine's, whether they are there or not; none on PostgreSQL."""
    return tuple(path for url in (own_url(engine_url), engine_url) if (path := file_of(url)) is not None)


@contextmanager
def viewing(url: str) -> Iterator[View]:
    """Look at a database; a file has to be there.

    Raises:
        StoreError: it cannot be read.
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
        raise StoreError(f"{path} cannot be read ({error})", "restore a backup if it stays so") from error
