"""Databases with our own tables: in a file, or on the tests' PostgreSQL server."""

from functools import lru_cache
from pathlib import Path

import pytest

from bot.store.database import Database
from bot.store.opening import open_database
from tests.postgres import Server

BOTH = ("sqlite", pytest.param("postgresql", marks=pytest.mark.slow))
"""Where everything has to work, as parameters of a fixture."""


def engine_file(folder: Path) -> str:
    """The URL of an engine's file in a folder; our own file is beside it."""
    return f"sqlite:///{folder / 'engine.sqlite'}"


def a_database(folder: Path) -> Database:
    """One in a file of this folder."""
    return open_database(engine_file(folder))


def url_of(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """The URL of a new engine's database of this kind; on PostgreSQL our tables are there already."""
    if kind == "sqlite":
        return engine_file(folder)
    server: Server = request.getfixturevalue("postgres")
    return server.new_database(template=_with_tables(server))


def a_database_of(kind: str, request: pytest.FixtureRequest, folder: Path) -> Database:
    """A new one of this kind, closed after the test."""
    database = open_database(url_of(kind, request, folder))
    request.addfinalizer(database.close)
    return database


@lru_cache(maxsize=1)
def _with_tables(server: Server) -> str:
    """The name of a database that others are copied from."""
    url = server.new_database()
    database = open_database(url)
    database.run(lambda tx: tx.execute("SELECT 1"))
    database.close()
    return url.rpartition("/")[2]
