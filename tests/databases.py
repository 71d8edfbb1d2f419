"""Databases with our own tables: in a file, or on the tests' PostgreSQL server."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import pytest
from typing_extensions import override

from bot.errors import StoreError
from bot.store.database import Database, Transaction
from bot.store.opening import open_database
from tests.postgres import Server

Answer = TypeVar("Answer")

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


class LosesAnAnswer(Database):
    """A server that went away once after it had written something down, and before it said so.

    Args:
        real: Where it is written.
    """

    def __init__(self, real: Database) -> None:
        super().__init__("postgresql://nobody@localhost/none")
        self._real = real
        self._is_away = True

    @override
    async def do(self, call: Callable[[Transaction], Answer]) -> Answer:
        answer = await self._real.do(call)
        if self._is_away:
            self._is_away = False
            raise StoreError("the server closed the connection")
        return answer
