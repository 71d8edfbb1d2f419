"""Blob storage in a folder, for one machine or several that share a file system."""

import contextlib
import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from typing_extensions import override

from bot.blobs.shelf import Entry, Shelf
from bot.errors import StoreError
from bot.private import make_private_folder

HALF_WRITTEN = ".writing-"
ABANDONED = timedelta(days=1)
"""Age after which a temporary file belongs to no running write."""
_TRIES = 20


class FolderShelf(Shelf):
    """Files that only this user can read.

    Args:
        root: The folder; it is created if missing.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._emptying = threading.Lock()
        """Keeps threads from removing a folder during a write.

        For other processes, writes are retried.
        """

    @override
    def write(self, key: str, content: bytes) -> None:
        """Write a file atomically."""
        path = self._root / key
        # Not in the owner's folder, which may be removed with its last value at any moment.
        kind = self._root / Path(key).parts[0]
        self._make(kind)
        try:
            temporary = _half_written(kind, content)
            try:
                self._place(temporary, path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise _trouble(path, "written", error) from error

    def _place(self, temporary: Path, path: Path) -> None:
        for last in (*(False,) * _TRIES, True):
            try:
                with self._emptying:
                    self._make(path.parent)
                    temporary.replace(path)
            except FileNotFoundError:
                if last:
                    raise
            else:
                # If the folder is gone again, its values were removed, too.
                with contextlib.suppress(FileNotFoundError):
                    _remember_names(path.parent)
                return

    @override
    def read(self, key: str, most: int) -> bytes | None:
        """Read a file."""
        try:
            with (self._root / key).open("rb") as file:
                return file.read(most + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _trouble(self._root / key, "read", error) from error

    @override
    def entries(self, under: str) -> Iterator[Entry]:
        """Yield every file below a folder; skip files that vanish meanwhile."""
        for folder, _, names in os.walk(self._root / under):
            for name in names:
                path = Path(folder, name)
                with contextlib.suppress(OSError):
                    status = path.lstat()
                    written_at = datetime.fromtimestamp(status.st_mtime, UTC)
                    yield Entry(path.relative_to(self._root).as_posix(), status.st_size, written_at)

    @override
    def remove(self, keys: Sequence[str]) -> None:
        """Remove files, and folders that become empty."""
        for key in keys:
            path = self._root / key
            with self._emptying:
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:
                    raise _trouble(path, "removed", error) from error
                with contextlib.suppress(OSError):
                    path.parent.rmdir()

    @override
    def clear_up(self, under: str) -> int:
        """Remove temporary files that are older than a day; no write takes that long."""
        left = [
            entry for entry in self.entries(under) if Path(entry.key).name.startswith(HALF_WRITTEN)
        ]
        if not left:
            return 0
        try:
            abandoned = _now_at(self._root / under) - ABANDONED
            gone = [self._root / entry.key for entry in left if entry.written_at < abandoned]
            for path in gone:
                path.unlink(missing_ok=True)  # keep the folder: a write may be about to use it
        except OSError as error:
            raise _trouble(self._root / under, "cleared up", error) from error
        return len(gone)

    def _make(self, folder: Path) -> None:
        try:
            make_private_folder(folder)
        except OSError as error:
            raise _trouble(folder, "made", error) from error


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file atomically and durably; only this user can read it.

    Raises:
        StoreError: the file cannot be written.
    """
    try:
        temporary = _half_written(path.parent, content)
        try:
            temporary.replace(path)
            _remember_names(path.parent)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _trouble(path, "written", error) from error


def _half_written(folder: Path, content: bytes) -> Path:
    """Write a temporary file, synchronized to disk, and return its path."""
    temporary = folder / f"{HALF_WRITTEN}{secrets.token_hex(8)}"
    try:
        with os.fdopen(
            os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb"
        ) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    return temporary


def _now_at(folder: Path) -> datetime:
    """Return the time of the folder's file system, whose clock may differ from this machine's."""
    probe = _half_written(folder, b"")
    try:
        return datetime.fromtimestamp(probe.lstat().st_mtime, UTC)
    finally:
        probe.unlink(missing_ok=True)


def _remember_names(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _trouble(path: Path, verb: str, error: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be {verb} ({error.strerror})", "check the folder and its free space"
    )
