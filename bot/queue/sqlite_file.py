"""The engine's SQLite file: held by one process at a time, and write-ahead logged."""

import fcntl
import sqlite3
from pathlib import Path
from typing import IO

from bot.errors import QueueError
from bot.store.database import BUSY_S, SQLITE, make_private, write_ahead


class SqliteFile:
    """One file for one executor.

    Args:
        url: `sqlite:///` and the absolute path of the file.
    """

    def __init__(self, url: str) -> None:
        self._path = Path(url.removeprefix(SQLITE))
        self._lock: IO[str] | None = None

    def take(self) -> None:
        """Make it ours.

        Raises:
            QueueError: another process holds it, or it cannot be used.
        """
        try:
            make_private(self._path)
        except OSError as error:
            raise QueueError(f"{self._path} cannot be made ({error.strerror})", "check METAAGENT_DATA_DIR") from error
        self._take_lock()
        try:
            self._write_ahead()
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        """Let it go."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _take_lock(self) -> None:
        """The kernel drops the lock with the process, so a dead one is never mistaken for a living."""
        lock = self._path.with_name(self._path.name + ".executor.lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise QueueError(
                f"another process already works on {self._path}: SQLite takes one executor",
                "stop it, give this one another METAAGENT_DATA_DIR, or set METAAGENT_DATABASE_URL to PostgreSQL",
            ) from error
        self._lock = lock

    def _write_ahead(self) -> None:
        """A property of the file, and dbos does not set it: without it every step costs three times as much."""
        try:
            database = sqlite3.connect(self._path, timeout=BUSY_S)
            try:
                write_ahead(database, BUSY_S)
            finally:
                database.close()
        except sqlite3.Error as error:
            raise QueueError(f"{self._path} cannot be used: {error}", "check METAAGENT_DATA_DIR") from error
