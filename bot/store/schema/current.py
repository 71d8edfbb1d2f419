"""Brings a database's tables up to date: a cheap look when they are, Alembic when they are not."""

import re
from pathlib import Path
from typing import Any

from bot.errors import StoreError

HERE = Path(__file__).parent
VERSIONS = HERE / "versions"
NAME = re.compile(r"v(\d{4})_\w+\.py")
VERSION_TABLE = "alembic_version"
NONE = "0000"
"""What a database without any of our tables stands at."""
MIGRATION_MS = 600_000
"""The longest wait for another process that migrates, and the longest a migration may take, on PostgreSQL."""


def head() -> str:
    """The newest revision this program knows: the highest number among the migrations."""
    return max(found[1] for path in VERSIONS.iterdir() if (found := NAME.fullmatch(path.name)))


def ensure_current(engine: Any) -> None:
    """Bring the tables up to date, all of it or nothing; of several processes one does it and the others wait.

    Args:
        engine: SQLAlchemy's.

    Raises:
        StoreError: a newer program made these tables.
    """
    with engine.begin() as connection:
        if _is_current(connection):
            return
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.connection.driver_connection.answer_s = None  # the server's own limit is enough
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {MIGRATION_MS}")
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('metaagent.schema'))")
            connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS metaagent")
        if not _is_current(connection):
            migrate(connection)
    engine.dispose()  # that connection is as patient as a migration needs


def revision_of(connection: Any) -> str:
    """What a database stands at, by an open connection of SQLAlchemy."""
    if connection.dialect.name == "postgresql":
        there = connection.exec_driver_sql(f"SELECT to_regclass('{VERSION_TABLE}')").scalar() is not None
    else:
        query = f"SELECT 1 FROM sqlite_master WHERE name = '{VERSION_TABLE}'"  # noqa: S608 (a literal above)
        there = connection.exec_driver_sql(query).scalar() is not None
    if not there:
        return NONE
    return str(connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar() or NONE)  # noqa: S608


def is_ours(connection: Any) -> bool:
    """Whether our tables are there, for who only looks and must not bring them up to date.

    Raises:
        StoreError: they are of another version.
    """
    found = revision_of(connection)
    if found not in {NONE, head()}:
        raise StoreError(f"the tables are at {found}, this program knows {head()}", "see `metaagent db check`")
    return found != NONE


def migrate(connection: Any, to: str = "head") -> None:
    """Bring the tables up to a revision, in the open transaction of a connection of SQLAlchemy."""
    from alembic.command import upgrade
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(HERE).replace("%", "%%"))
    upgrade(config, to)


def _is_current(connection: Any) -> bool:
    found, newest = revision_of(connection), head()
    if found > newest:
        raise StoreError(
            f"the database was made by a newer MetaAgent: its tables are at {found}, this program knows {newest}",
            "start the newer version again, or restore the backup made before it",
        )
    return found == newest
