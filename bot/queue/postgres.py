"""Our own connection to PostgreSQL: who of the executors lives, by the database's clock, and who may do what alone."""

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from bot.errors import QueueError

SCHEMES = ("postgresql://", "postgres://")
CONNECT_S = 5
ANSWER_MS = 10_000
"""The longest wait for one statement, and for a network that swallows it."""

_TABLE = """
SELECT pg_advisory_xact_lock(hashtext('metaagent.tables'));
CREATE TABLE IF NOT EXISTS metaagent_executor (id TEXT PRIMARY KEY, beat TIMESTAMPTZ NOT NULL);
"""
"""Processes that start together make the table once: `IF NOT EXISTS` alone is a race."""
_BEAT = """
INSERT INTO metaagent_executor VALUES (%s, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET beat = excluded.beat
"""
_ALIVE = "SELECT id FROM metaagent_executor WHERE id = ANY(%s) AND beat > clock_timestamp() - make_interval(secs => %s)"
_LEFT = "DELETE FROM metaagent_executor WHERE beat < clock_timestamp() - interval '1 day'"


def with_timeout(url: str) -> str:
    """The URL with a limit to how long connecting may take, unless it has one."""
    if "connect_timeout=" in url or not is_postgres(url):
        return url
    return f"{url}{'&' if '?' in url else '?'}connect_timeout={CONNECT_S}"


def is_postgres(url: str) -> bool:
    """Whether a database's URL names a PostgreSQL server."""
    return url.startswith(SCHEMES)


class Postgres:
    """One connection, made anew when it broke; every method may be called from any thread.

    Args:
        url: `postgresql://…`.
        executor: The name this process has in the engine's rows.
    """

    def __init__(self, url: str, executor: str) -> None:
        self._url = url
        self._executor = executor
        self._connection: Any = None
        self._lock = threading.Lock()
        self._alone = threading.Lock()

    def prepare(self) -> None:
        """Connect, and make our table when it is not there.

        Raises:
            QueueError: no connection.
        """
        import psycopg

        try:
            with self._lock, self._connected().transaction():
                self._connection.execute(_TABLE)
        except psycopg.OperationalError as error:
            # Says where it connected to and why not, and never the password.
            raise QueueError(f"PostgreSQL cannot be reached: {error}", "check METAAGENT_DATABASE_URL") from None
        except psycopg.Error as error:
            message = f"PostgreSQL cannot be used ({type(error).__name__})"
            raise QueueError(message, "check METAAGENT_DATABASE_URL and the rights of its user") from None

    def beat(self) -> None:
        """This process lives."""
        self._run(_BEAT, self._executor)

    def alive(self, executors: Sequence[str], ttl_s: float) -> frozenset[str]:
        """Which of these were heard of within that time, by the database's clock."""
        return frozenset(row[0] for row in self._run(_ALIVE, list(executors), ttl_s))

    def leave(self) -> None:
        """This process lives no more, nor do those that were forgotten; a server that is away will see that itself."""
        if self._connection is None:
            return
        with suppress(Exception):
            self._run("DELETE FROM metaagent_executor WHERE id = %s", self._executor)
            self._run(_LEFT)
        with self._lock:
            self._connection.close()

    @contextmanager
    def alone(self, what: str, *, wait: bool = True) -> Iterator[bool]:
        """Do something that no other process does at the same time; gives False when one does and we do not wait."""
        key = int.from_bytes(hashlib.sha256(f"metaagent.{what}".encode()).digest()[:8], "big", signed=True)
        # The server's locks are of a connection, and all threads here have the same.
        with self._alone:
            call = "pg_advisory_lock" if wait else "pg_try_advisory_lock"
            taken = self._run(f"SELECT {call}(%s)", key)[0][0] is not False
            try:
                yield taken
            finally:
                if taken:
                    self._run("SELECT pg_advisory_unlock(%s)", key)

    def _run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                cursor = self._connected().execute(statement, values)
                return list(cursor.fetchall()) if cursor.description else []
            except BaseException:
                # Whatever state it is in, the next call has a new one; locks it held are free.
                with suppress(Exception):
                    self._connection.close()
                raise

    def _connected(self) -> Any:
        import psycopg

        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                with_timeout(self._url),
                autocommit=True,
                tcp_user_timeout=ANSWER_MS,
                options=f"-c statement_timeout={ANSWER_MS}",
                application_name="metaagent",
            )
        return self._connection
