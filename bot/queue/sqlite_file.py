"""The engine's SQLite file: locked by one process at a time, with a write-ahead log."""

import fcntl
import sqlite3
from pathlib import Path
from typing import IO

from bot.errors import QueueError
from bot.store.database import BUSY_S, SQLITE, make_private, write_ahead


class SqliteFile:
    """A database file for one executor.

    Args:
        url: `sqlite:///` and the absolute path of the file.
    """

    def __init__(self, url: str) -> None:
        self._path = Path(url.removeprefix(SQLITE))
        self._lock: IO[str] | None = None

    def take(self) -> None:
        """Lock the file and prepare it.

        Raises:
            QueueError: another process holds the lock, or the file cannot be used.
        """
        try:
            make_private(self._path)
        except OSError as error:
            raise QueueError(
                f"{self._path} cannot be made ({error.strerror})", "check METAAGENT_DATA_DIR"
            ) from error
        self._take_lock()
        try:
            self._write_ahead()
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _take_lock(self) -> None:
        """Lock with flock: the kernel releases it with the process, so no stale lock remains."""
        lock = self._path.with_name(self._path.name + ".executor.lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise QueueError(
                f"another process already uses {self._path}: SQLite allows one executor",
                "stop it, give this one another METAAGENT_DATA_DIR, "
                "or set METAAGENT_DATABASE_URL to PostgreSQL",
            ) from error
        self._lock = lock

    def _write_ahead(self) -> None:
        """Switch to a write-ahead log.

        Without it, which is dbos's default, a step takes 3x as long.
        """
        try:
            database = sqlite3.connect(self._path, timeout=BUSY_S)
            try:
                write_ahead(database, BUSY_S)
            finally:
                database.close()
        except sqlite3.Error as error:
            raise QueueError(
                f"{self._path} cannot be used: {error}", "check METAAGENT_DATA_DIR"
            ) from error
