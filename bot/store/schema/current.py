"""Migrates a database: a cheap check first, Alembic only if it is outdated."""

import re
from pathlib import Path
from typing import Any

from bot.errors import StoreError

HERE = Path(__file__).parent
VERSIONS = HERE / "versions"
NAME = re.compile(r"v(\d{4})_\w+\.py")
VERSION_TABLE = "alembic_version"
NONE = "0000"
"""The revision of a database without our tables."""
MIGRATION_MS = 600_000
"""Longest wait for another process's migration, and longest migration, in ms, on PostgreSQL."""


def head() -> str:
    """Return the newest known revision: the highest number among the migrations."""
    return max(found[1] for path in VERSIONS.iterdir() if (found := NAME.fullmatch(path.name)))


def ensure_current(engine: Any) -> None:
    """Migrate the tables in one transaction; concurrent processes wait for the first one.

    Args:
        engine: A SQLAlchemy engine.

    Raises:
        StoreError: the tables are of a newer version.
    """
    with engine.begin() as connection:
        if _is_current(connection):
            return
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.connection.driver_connection.answer_s = None  # the server's limit is enough
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {MIGRATION_MS}")
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('metaagent.schema'))")
            connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS metaagent")
        if not _is_current(connection):
            migrate(connection)
    engine.dispose()  # the next connection has its usual timeouts again


def revision_of(connection: Any) -> str:
    """Return a database's revision, over an open SQLAlchemy connection."""
    if connection.dialect.name == "postgresql":
        there = (
            connection.exec_driver_sql(f"SELECT to_regclass('{VERSION_TABLE}')").scalar()
            is not None
        )
    else:
        query = f"SELECT 1 FROM sqlite_master WHERE name = '{VERSION_TABLE}'"  # noqa: S608
        there = connection.exec_driver_sql(query).scalar() is not None
    if not there:
        return NONE
    query = f"SELECT version_num FROM {VERSION_TABLE}"  # noqa: S608
    return str(connection.exec_driver_sql(query).scalar() or NONE)


def is_ours(connection: Any) -> bool:
    """Return True if our tables exist, for readers that must not migrate them.

    Raises:
        StoreError: they are of another version.
    """
    found = revision_of(connection)
    if found not in {NONE, head()}:
        raise StoreError(
            f"the tables are at revision {found}, this version needs {head()}",
            "see `metaagent db check`",
        )
    return found != NONE


def migrate(connection: Any, to: str = "head") -> None:
    """Migrate the tables to a revision, in the open transaction of a SQLAlchemy connection."""
    from alembic.command import upgrade
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(HERE).replace("%", "%%"))
    upgrade(config, to)


def _is_current(connection: Any) -> bool:
    found, newest = revision_of(connection), head()
    if found > newest:
        raise StoreError(
            f"the database is newer than this MetaAgent: its tables are at revision {found}, "
            f"this version knows {newest}",
            "start the newer version again, or restore the backup made before it",
        )
    return found == newest
