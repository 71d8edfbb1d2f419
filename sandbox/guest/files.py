"""Read, write and delete one file of the work tree, never through a symbolic link."""

import contextlib
import itertools
import os
import stat
import time
from typing import Optional

from sandbox.guest.inside import (
    PathRefused,
    open_below,
    open_file,
    read_all,
    read_status,
    split_path,
)

FRESH = ".metaagent-new"
"""Temporary name of a file until it is complete."""

AHEAD_S = 3600
"""Seconds by which the modification time of a written file lies in the future, plus one for every
write. Tools that compare size and whole seconds (mypy's cache, byte code) would otherwise miss the
second of two writes. The time lies in the future because output built from the file must be older
than it is.
"""

_writes = itertools.count(1)


def read(root: str, path: str, limit: int) -> Optional[bytes]:
    """Read a regular file; return None if there is none.

    Args:
        root: The work tree.
        path: The path of the file below it.
        limit: Maximum size in bytes.

    Raises:
        Refused: The path leaves the tree, or the file is larger.
    """
    status = read_status(root, path)
    if status is None or not stat.S_ISREG(status.st_mode):
        return None
    if status.st_size > limit:
        raise PathRefused("%r has more than %d bytes" % (path[:200], limit))
    parts = split_path(path)
    folder = open_below(root, parts[:-1])
    try:
        return read_all(open_file(parts[-1], folder), limit)
    finally:
        os.close(folder)


def write(root: str, path: str, mode: str, data: bytes) -> None:
    """Write or delete one file.

    Args:
        root: The work tree.
        path: The path of the file below it.
        mode: `100644`, `100755` or `deleted`.
        data: Its whole content.

    Raises:
        Refused: The path leaves the tree, or is not a regular file.
    """
    status = read_status(root, path)
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise PathRefused("%r is a link, a folder or a special file" % path[:200])
    if mode != "deleted":
        _replace(root, path, 0o755 if mode == "100755" else 0o644, data)
    elif status is not None:
        _delete(root, path)


def _replace(root: str, path: str, mode: int, data: bytes) -> None:
    """Replace a file by a new one, so that hard links elsewhere keep the old content."""
    parts = split_path(path)
    try:
        folder = open_below(root, parts[:-1], make=True)
    except OSError as error:
        raise PathRefused("a link or a file is in the way of %r" % path[:200]) from error
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(FRESH, dir_fd=folder)
        # O_EXCL and O_NOFOLLOW fail if a test created a link with this name.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(FRESH, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            now = time.time()
            os.utime(file.fileno(), (now, int(now) + AHEAD_S + next(_writes)))
        os.replace(FRESH, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _delete(root: str, path: str) -> None:
    parts = split_path(path)
    folder = open_below(root, parts[:-1])
    try:
        os.unlink(parts[-1], dir_fd=folder)
    finally:
        os.close(folder)
    # Remove empty parent folders, as git does.
    for depth in range(len(parts) - 1, 0, -1):
        above = open_below(root, parts[: depth - 1])
        try:
            os.rmdir(parts[depth - 1], dir_fd=above)
        except OSError:
            return
        finally:
            os.close(above)
