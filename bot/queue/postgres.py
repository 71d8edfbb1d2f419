"""Our own PostgreSQL connection: heartbeats by the database's clock, and advisory locks."""

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from bot.errors import QueueError, StoreError
from bot.store.database import is_postgres
from bot.store.opening import open_database
from bot.store.server import ANSWER_MS, CONNECT_S, IDLE_MS, connection_arguments, timed_connection

_BEAT = """
INSERT INTO metaagent.executor VALUES (%s, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET beat = excluded.beat
"""
_ALIVE = """
SELECT id FROM metaagent.executor
WHERE id = ANY(%s) AND beat > clock_timestamp() - make_interval(secs => %s)
"""
_LEFT = "DELETE FROM metaagent.executor WHERE beat < clock_timestamp() - interval '1 day'"


def with_timeout(url: str) -> str:
    """Add connection and network timeouts to a URL that has none, for the library's connections."""
    if not is_postgres(url):
        return url
    limits = {"connect_timeout": CONNECT_S, "tcp_user_timeout": ANSWER_MS}
    missing = "&".join(f"{name}={most}" for name, most in limits.items() if f"{name}=" not in url)
    return f"{url}{'&' if '?' in url else '?'}{missing}" if missing else url


class Postgres:
    """One thread-safe connection, reopened after an error.

    Args:
        url: `postgresql://…`.
        executor: The name of this process in the engine's rows.
    """

    def __init__(self, url: str, executor: str) -> None:
        self._url = url
        self._executor = executor
        self._connection: Any = None
        self._spoke = 0.0
        self._lock = threading.Lock()
        # Reentrant: the judging thread may need a second lock to requeue a failed notice.
        self._alone = threading.RLock()

    def prepare(self) -> None:
        """Connect and migrate our tables.

        Raises:
            QueueError: no connection, or tables of a newer version.
        """
        import psycopg

        try:
            with self._lock:
                self._ensure_connection()
        except psycopg.OperationalError as error:
            # psycopg's message has host and reason, but never the password.
            raise QueueError(
                f"PostgreSQL cannot be reached: {error}", "check METAAGENT_DATABASE_URL"
            ) from None
        except psycopg.Error as error:
            message = f"PostgreSQL cannot be used ({type(error).__name__})"
            raise QueueError(
                message, "check METAAGENT_DATABASE_URL and the rights of its user"
            ) from None
        tables = open_database(self._url)
        try:
            tables.open()
        except StoreError as error:
            raise QueueError(error.message, error.advice) from error
        finally:
            tables.close()

    def beat(self) -> None:
        """Record a heartbeat of this process."""
        self._run(_BEAT, self._executor)

    def alive(self, executors: Sequence[str], ttl_s: float) -> frozenset[str]:
        """Return executors with a heartbeat in the last `ttl_s` seconds of the database's clock."""
        return frozenset(row[0] for row in self._run(_ALIVE, list(executors), ttl_s))

    def leave(self) -> None:
        """Delete the heartbeats of this process and of long-dead ones.

        Ignore an unavailable server.
        """
        if self._connection is None:
            return
        with suppress(Exception):
            self._run("DELETE FROM metaagent.executor WHERE id = %s", self._executor)
            self._run(_LEFT)
        with self._lock:
            self._connection.close()

    @contextmanager
    def alone(self, what: str, *, wait: bool = True) -> Iterator[bool]:
        """Hold a lock over all processes; yield False if it is taken and `wait` is false."""
        key = int.from_bytes(
            hashlib.sha256(f"metaagent.{what}".encode()).digest()[:8], "big", signed=True
        )
        # An advisory lock belongs to the connection, which all threads here share.
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
                cursor = self._ensure_connection().execute(statement, values)
                return list(cursor.fetchall()) if cursor.description else []
            except BaseException:
                # Its state is unknown: the next call reconnects, and the server frees its locks.
                with suppress(Exception):
                    self._connection.close()
                raise

    def _ensure_connection(self) -> Any:
        import psycopg

        now = time.monotonic()
        if self._connection is not None and now - self._spoke > IDLE_MS / 2_000:
            self._connection.close()  # before the server's idle timeout does
        if self._connection is None or self._connection.closed:
            self._connection = timed_connection(psycopg).connect(
                self._url, autocommit=True, **connection_arguments()
            )
        self._spoke = now
        return self._connection
