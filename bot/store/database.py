"""A database by URL, SQLite or PostgreSQL: write transactions in SQL that both understand."""

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
from bot.store.server import connection_arguments, timed_connection
from bot.user_folder import keep_out_of_commits

Answer = TypeVar("Answer")
Row = Sequence[Any]
Values = Mapping[str, object]

SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")
DRIVER = "postgresql+psycopg://"
BUSY_S = 30.0
"""Longest wait for another writer's lock, in seconds."""
RETRY_S = 0.01
"""Pause between two tries to switch to a write-ahead log, in seconds."""
SCHEMA = "metaagent"
"""The PostgreSQL schema of our tables; the engine has its own."""

_PASSWORD, _KEY_PASSWORD = "password=", "sslpassword="
_GAP = re.compile(r"(?<![:\w]):([a-z]\w*)")
"""A `:placeholder` in SQLite's style, but not a `::cast`."""


class Transaction:
    """An open write transaction.

    Args:
        connection: A SQLAlchemy connection.
    """

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        """The SQLAlchemy connection, for statements beyond `execute`."""

    def execute(self, sql: str, values: Values | Sequence[Values] | None = None) -> list[Row]:
        """Run a statement with `:named` placeholders for one or many rows of values.

        Return its rows.
        """
        if values is not None and not values and not isinstance(values, Mapping):
            return []  # no rows of values
        cursor = self._run_statement(sql, values)
        return list(cursor.fetchall()) if cursor.description else []

    def change(self, sql: str, values: Values | None = None) -> int:
        """Run a statement that returns no rows; return the number of changed rows."""
        return int(self._run_statement(sql, values).rowcount)

    def _run_statement(self, sql: str, values: Values | Sequence[Values] | None) -> Any:
        # Call the driver directly: SQLAlchemy makes a statement ten times as expensive.
        driven = self.connection.connection.driver_connection
        cursor = driven.cursor()
        run = (
            cursor.execute if values is None or isinstance(values, Mapping) else cursor.executemany
        )
        try:
            run(_for_psycopg(sql) if self.is_postgres else sql, values or {})
        except BaseException:
            if self.is_postgres and driven.closed:
                # Skip the rollback, which would hide the original error.
                self.connection.invalidate()
            raise
        return cursor

    @property
    def is_postgres(self) -> bool:
        """Return True if the database is PostgreSQL."""
        return bool(self.connection.dialect.name == "postgresql")

    def alone(self, what: str) -> None:
        """Take a lock until the transaction ends; SQLite needs none, since it has one writer."""
        if self.is_postgres:
            self.execute(
                "SELECT pg_advisory_xact_lock(hashtext(:what))", {"what": f"metaagent.{what}"}
            )

    def keep(self, what: str) -> bool:
        """Return True if this connection holds a lock, which it then keeps until it closes.

        On SQLite it always does.
        """
        if not self.is_postgres:
            return True
        [(kept,)] = self.execute(
            "SELECT pg_try_advisory_lock(hashtext(:what))", {"what": f"metaagent.kept.{what}"}
        )
        return bool(kept)


class Database:
    """The database of our own tables. Thread-safe; it runs one transaction at a time.

    The first call connects, and a call after an error reconnects.

    Args:
        url: `sqlite:///` and the absolute path of the file, which is created if missing, or
            `postgresql://…`.
        prepare: Called once with the SQLAlchemy engine before the first transaction.
        busy_s: Longest wait for another writer's lock, in seconds.
    """

    def __init__(
        self, url: str, prepare: Callable[[Any], None] | None = None, *, busy_s: float = BUSY_S
    ) -> None:
        self.url = url
        self._prepare = prepare
        self._busy_s = busy_s
        self._engine: Any = None
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """Return the database's location without a password, for messages."""
        if self.url.startswith(SQLITE):
            return self.url.removeprefix(SQLITE)
        shown = urlsplit(without_password(self.url)[0])
        return f"PostgreSQL at {shown.netloc.rpartition('@')[2]}{shown.path}"

    def open(self) -> None:
        """Connect and prepare now instead of at the first call.

        Raises:
            StoreError: the database cannot be used.
        """
        with self.transaction():
            pass

    async def do(self, call: Callable[[Transaction], Answer]) -> Answer:
        """Run a function in a transaction, off the event loop.

        Raises:
            StoreError: the database cannot be used.
        """
        return await asyncio.to_thread(self.run, call)

    def run(self, call: Callable[[Transaction], Answer]) -> Answer:
        """Run a function in a transaction.

        Raises:
            StoreError: the database cannot be used.
        """
        with self.transaction() as transaction:
            return call(transaction)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction; commit it when the block ends, roll back if it raises.

        Raises:
            StoreError: the database cannot be used.
        """
        with self._lock:
            engine = self._ensure_engine()
            with (
                self._translate_errors(engine.dialect.loaded_dbapi.Error),
                engine.begin() as connection,
            ):
                yield Transaction(connection)

    def close(self) -> None:
        """Close the connections; the next call reopens them."""
        with self._lock, suppress(Exception):
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None

    def __del__(self) -> None:
        """Close forgotten connections, too."""
        self.close()

    def _ensure_engine(self) -> Any:
        if self._engine is None:
            with self._translate_errors():
                engine = _engine(self.url, self._busy_s)
            try:
                with self._translate_errors(engine.dialect.loaded_dbapi.Error):
                    if self._prepare is not None:
                        self._prepare(engine)
            except BaseException:
                engine.dispose()
                raise
            self._engine = engine
        return self._engine

    @contextmanager
    def _translate_errors(self, *drivers: type[Exception]) -> Iterator[None]:
        """Turn every error of the libraries into a StoreError."""
        from sqlalchemy.exc import SQLAlchemyError

        troubles: tuple[type[Exception], ...] = (SQLAlchemyError, *drivers)
        try:
            yield
        except troubles as error:
            # Only the first line of the driver's message: the rest, and SQLAlchemy's, may contain
            # values.
            words = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            raise StoreError(
                f"the database cannot be used ({words})", f"check {self.name}"
            ) from None


def is_postgres(url: str) -> bool:
    """Return True if the URL is a PostgreSQL server's."""
    return url.startswith(POSTGRES)


def without_password(url: str) -> tuple[str, str]:
    """Split a server's URL into a form without passwords, and its password as written there.

    The password may be percent-encoded. The password of a TLS key is removed as well.
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    kept = parts._replace(
        netloc=f"{parts.username}@{host}" if parts.username else host,
        query="&".join(
            one for one in parts.query.split("&") if not one.startswith((_PASSWORD, _KEY_PASSWORD))
        ),
    )
    return urlunsplit(kept), _query_value(url, _PASSWORD) or parts.password or ""


def key_password(url: str) -> str:
    """Return the TLS key's password as written in the URL, or an empty string."""
    return _query_value(url, _KEY_PASSWORD)


def _query_value(url: str, word: str) -> str:
    """Return the first value of a query parameter, or an empty string."""
    found = (
        one.removeprefix(word) for one in urlsplit(url).query.split("&") if one.startswith(word)
    )
    return next(found, "")


@lru_cache(maxsize=512)
def _for_psycopg(sql: str) -> str:
    return _GAP.sub(r"%(\1)s", sql.replace("%", "%%"))


def _engine(url: str, busy_s: float) -> Any:
    if is_postgres(url):
        return _create_server_engine(url)
    if not url.startswith(SQLITE):
        raise StoreError(
            f"unsupported database: {url.partition(':')[0]}", "use sqlite:///… or postgresql://…"
        )
    path = Path(url.removeprefix(SQLITE))
    try:
        make_private(path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be made ({error.strerror})", "check METAAGENT_DATA_DIR"
        ) from error
    return _create_file_engine(url, busy_s)


def _create_server_engine(url: str) -> Any:
    from sqlalchemy import create_engine, event

    engine = create_engine(
        DRIVER + url.partition("://")[2],
        pool_size=1,
        max_overflow=0,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args=connection_arguments(search_path=SCHEMA),
    )

    def connect(dialect: Any, _: object, arguments: Any, named: Any) -> Any:
        return timed_connection(dialect.loaded_dbapi).connect(*arguments, **named)

    event.listen(engine, "do_connect", connect)
    return engine


def make_private(path: Path) -> None:
    """Create a private SQLite file if missing; SQLite gives its companion files the same mode.

    Raises:
        OSError: the file cannot be created.
    """
    keep_out_of_commits(path.parent)
    with suppress(FileExistsError):
        # Never open an existing file here: closing it would release SQLite's locks on it.
        path.touch(mode=0o600, exist_ok=False)


def write_ahead(connection: Any, busy_s: float) -> None:
    """Switch a file to write-ahead logging (WAL), with retries.

    SQLite does not wait for this lock while another process creates the file.

    Raises:
        sqlite3.Error: the file cannot be used, or stayed locked.
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


def _create_file_engine(url: str, busy_s: float) -> Any:
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
        connection.isolation_level = None  # `begun` begins transactions, not the sqlite3 module
        write_ahead(connection, busy_s)
        connection.execute("PRAGMA synchronous=FULL")

    def begun(connection: Any) -> None:
        connection.connection.driver_connection.execute("BEGIN IMMEDIATE")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
    return engine
