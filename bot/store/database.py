"""One database by one URL, SQLite or PostgreSQL: writing transactions in SQL that both understand."""

import asyncio
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from bot.errors import StoreError
from bot.store.server import connecting, impatient
from bot.user_folder import keep_out_of_commits

Answer = TypeVar("Answer")
Row = Sequence[Any]
Values = Mapping[str, object]

SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")
DRIVER = "postgresql+psycopg://"
BUSY_S = 30.0
"""The longest wait for somebody else's write."""
RETRY_S = 0.01
SCHEMA = "metaagent"
"""Where our tables are in a PostgreSQL database; the engine's are in one of its own."""

_PASSWORD, _KEY_PASSWORD = "password=", "sslpassword="
_GAP = re.compile(r"(?<![:\w]):([a-z]\w*)")
"""`:like_this`, which SQLite's driver knows; and no `::cast`."""


class Transaction:
    """One writing transaction, open until its block ends.

    Args:
        connection: SQLAlchemy's connection.
    """

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        """SQLAlchemy's own, for what `execute` cannot say."""

    def execute(self, sql: str, values: Values | Sequence[Values] | None = None) -> list[Row]:
        """One statement with gaps named `:like_this`, for one row of values or for many; the rows it gives."""
        if values is not None and not values and not isinstance(values, Mapping):
            return []  # no rows of values
        cursor = self._driven(sql, values)
        return list(cursor.fetchall()) if cursor.description else []

    def change(self, sql: str, values: Values | None = None) -> int:
        """One statement that gives no rows; how many it changed."""
        return int(self._driven(sql, values).rowcount)

    def _driven(self, sql: str, values: Values | Sequence[Values] | None) -> Any:
        # Straight to the driver: by way of SQLAlchemy a statement costs ten times as much.
        driven = self.connection.connection.driver_connection
        cursor = driven.cursor()
        run = cursor.execute if values is None or isinstance(values, Mapping) else cursor.executemany
        try:
            run(_for_psycopg(sql) if self.is_postgres else sql, values or {})
        except BaseException:
            if self.is_postgres and driven.closed:
                self.connection.invalidate()  # nothing to undo: what broke it is told, not that it is broken
            raise
        return cursor

    @property
    def is_postgres(self) -> bool:
        """Whether it runs on PostgreSQL."""
        return bool(self.connection.dialect.name == "postgresql")

    def alone(self, what: str) -> None:
        """Let no other transaction be alone with the same before this one ends; on SQLite no two ever write."""
        if self.is_postgres:
            self.execute("SELECT pg_advisory_xact_lock(hashtext(:what))", {"what": f"metaagent.{what}"})

    def keep(self, what: str) -> bool:
        """Whether this connection is the one of all that has something, which it then has until it ends.

        On SQLite it always is.
        """
        if not self.is_postgres:
            return True
        [(kept,)] = self.execute("SELECT pg_try_advisory_lock(hashtext(:what))", {"what": f"metaagent.kept.{what}"})
        return bool(kept)


class Database:
    """The database of our own tables; every method may be called from any thread, one transaction at a time.

    Connecting is left to the first call. A connection that broke is replaced by the next call.

    Args:
        url: `sqlite:///` and the file's absolute path (made with its folder when it is not there), or `postgresql://…`.
        prepare: Called once with SQLAlchemy's engine before the first transaction.
        busy_s: The longest wait for somebody else's write.
    """

    def __init__(self, url: str, prepare: Callable[[Any], None] | None = None, *, busy_s: float = BUSY_S) -> None:
        self.url = url
        self._prepare = prepare
        self._busy_s = busy_s
        self._engine: Any = None
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """What an operator knows it by, without a password."""
        if self.url.startswith(SQLITE):
            return self.url.removeprefix(SQLITE)
        shown = urlsplit(without_password(self.url)[0])
        return f"PostgreSQL at {shown.netloc.rpartition('@')[2]}{shown.path}"

    def open(self) -> None:
        """Connect and prepare now, which the first call does else.

        Raises:
            StoreError: the database cannot be used.
        """
        with self.transaction():
            pass

    async def do(self, call: Callable[[Transaction], Answer]) -> Answer:
        """One transaction, off the event loop.

        Raises:
            StoreError: the database cannot be used.
        """
        return await asyncio.to_thread(self.run, call)

    def run(self, call: Callable[[Transaction], Answer]) -> Answer:
        """One transaction; all of it or nothing.

        Raises:
            StoreError: the database cannot be used.
        """
        with self.transaction() as transaction:
            return call(transaction)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """One transaction, kept when the block ends and undone when it raises.

        Raises:
            StoreError: the database cannot be used.
        """
        with self._lock:
            engine = self._opened()
            with self._telling(engine.dialect.loaded_dbapi.Error), engine.begin() as connection:
                yield Transaction(connection)

    def close(self) -> None:
        """Close the connections; the next call opens them anew."""
        with self._lock, suppress(Exception):
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None

    def __del__(self) -> None:
        """Nobody has to close it: a connection that is forgotten is closed, too."""
        self.close()

    def _opened(self) -> Any:
        if self._engine is None:
            with self._telling():
                engine = _engine(self.url, self._busy_s)
            try:
                with self._telling(engine.dialect.loaded_dbapi.Error):
                    if self._prepare is not None:
                        self._prepare(engine)
            except BaseException:
                engine.dispose()
                raise
            self._engine = engine
        return self._engine

    @contextmanager
    def _telling(self, *drivers: type[Exception]) -> Iterator[None]:
        """Every trouble of the libraries is a StoreError."""
        from sqlalchemy.exc import SQLAlchemyError

        troubles: tuple[type[Exception], ...] = (SQLAlchemyError, *drivers)
        try:
            yield
        except troubles as error:
            # The first line of the driver's own words: what follows, and SQLAlchemy's, may carry values.
            words = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            raise StoreError(f"the database cannot be used ({words})", f"look at {self.name}") from None


def is_postgres(url: str) -> bool:
    """Whether a database's URL names a PostgreSQL server."""
    return url.startswith(POSTGRES)


def without_password(url: str) -> tuple[str, str]:
    """A server's URL as it may be shown, and the password that was in it, as it stood there (perhaps `%40` for `@`).

    The password of a TLS key is not shown either.
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    kept = parts._replace(
        netloc=f"{parts.username}@{host}" if parts.username else host,
        query="&".join(one for one in parts.query.split("&") if not one.startswith((_PASSWORD, _KEY_PASSWORD))),
    )
    return urlunsplit(kept), _asked_for(url, _PASSWORD) or parts.password or ""


def key_password(url: str) -> str:
    """The password of our own TLS key that was in a server's URL, as it stood there; empty without one."""
    return _asked_for(url, _KEY_PASSWORD)


def _asked_for(url: str, word: str) -> str:
    """The first value of one word of a URL's query."""
    found = (one.removeprefix(word) for one in urlsplit(url).query.split("&") if one.startswith(word))
    return next(found, "")


@lru_cache(maxsize=512)
def _for_psycopg(sql: str) -> str:
    return _GAP.sub(r"%(\1)s", sql.replace("%", "%%"))


def _engine(url: str, busy_s: float) -> Any:
    if is_postgres(url):
        return _at_a_server(url)
    if not url.startswith(SQLITE):
        raise StoreError(f"no database of ours: {url.partition(':')[0]}", "use sqlite:///… or postgresql://…")
    path = Path(url.removeprefix(SQLITE))
    try:
        make_private(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be made ({error.strerror})", "check METAAGENT_DATA_DIR") from error
    return _in_a_file(url, busy_s)


def _at_a_server(url: str) -> Any:
    from sqlalchemy import create_engine, event

    engine = create_engine(
        DRIVER + url.partition("://")[2],
        pool_size=1,
        max_overflow=0,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args=connecting(search_path=SCHEMA),
    )

    def connect(dialect: Any, _: object, arguments: Any, named: Any) -> Any:
        return impatient(dialect.loaded_dbapi).connect(*arguments, **named)

    event.listen(engine, "do_connect", connect)
    return engine


def make_private(path: Path) -> None:
    """Make an SQLite file that only its owner reads, unless it is there; what SQLite puts beside it is as private.

    Raises:
        OSError: it cannot be made.
    """
    keep_out_of_commits(path.parent)
    with suppress(FileExistsError):
        path.touch(mode=0o600, exist_ok=False)  # one that is there is not opened: closing it would drop SQLite's locks


def write_ahead(connection: Any, busy_s: float) -> None:
    """Put a file into write-ahead logging (WAL); SQLite does not wait for this while another process makes the file.

    Raises:
        sqlite3.Error: the file cannot be used, or somebody else held it all the time.
    """
    until = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
        else:
            return
        time.sleep(RETRY_S)


def _in_a_file(url: str, busy_s: float) -> Any:
    from sqlalchemy import create_engine, event
    from sqlalchemy.pool import QueuePool

    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"timeout": busy_s, "check_same_thread": False},
    )

    def connected(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin where we say, not where sqlite3 guesses
        write_ahead(connection, busy_s)
        connection.execute("PRAGMA synchronous=FULL")

    def begun(connection: Any) -> None:
        connection.connection.driver_connection.execute("BEGIN IMMEDIATE")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
    return engine
