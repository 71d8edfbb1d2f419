"""One file of the work tree: read, written, deleted, never through a symbolic link."""

import contextlib
import itertools
import os
import stat
import time
from typing import Optional

from sandbox.guest.inside import Refused, open_below, open_file, parts_of, read_all, status_of

FRESH = ".metaagent-new"
"""A new file stands under this name until it is complete."""

AHEAD_S = 3600
"""How far the time of a written file lies ahead, and a second more for every write: what tells files apart by size and
whole seconds (mypy's cache, byte code) would take the second of two writes within a second for the first. Ahead, since
what is built from such a file must be older than it is."""

_writes = itertools.count(1)


def read(root: str, path: str, limit: int) -> Optional[bytes]:
    """A regular file, or None when there is none.

    Args:
        root: The work tree.
        path: Where the file stands below it.
        limit: The largest size that is read.

    Raises:
        Refused: the path leaves the tree, or the file is larger.
    """
    status = status_of(root, path)
    if status is None or not stat.S_ISREG(status.st_mode):
        return None
    if status.st_size > limit:
        raise Refused("%r has more than %d bytes" % (path[:200], limit))
    parts = parts_of(path)
    folder = open_below(root, parts[:-1])
    try:
        return read_all(open_file(parts[-1], folder), limit)
    finally:
        os.close(folder)


def write(root: str, path: str, mode: str, data: bytes) -> None:
    """Write or delete one file.

    Args:
        root: The work tree.
        path: Where the file stands below it.
        mode: `100644`, `100755` or `deleted`.
        data: Its whole content.

    Raises:
        Refused: the path leaves the tree, or something that is not a file stands there.
    """
    status = status_of(root, path)
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise Refused("%r is a link, a folder or a special file" % path[:200])
    if mode != "deleted":
        _replace(root, path, 0o755 if mode == "100755" else 0o644, data)
    elif status is not None:
        _delete(root, path)


def _replace(root: str, path: str, mode: int, data: bytes) -> None:
    """A new file takes the place of the old one: hard links to it elsewhere keep the old content."""
    parts = parts_of(path)
    try:
        folder = open_below(root, parts[:-1], make=True)
    except OSError as error:
        raise Refused("a link or a file is in the way of %r" % path[:200]) from error
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(FRESH, dir_fd=folder)
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
    parts = parts_of(path)
    folder = open_below(root, parts[:-1])
    try:
        os.unlink(parts[-1], dir_fd=folder)
    finally:
        os.close(folder)
    # Like git: a folder without files is not there.
    for depth in range(len(parts) - 1, 0, -1):
        above = open_below(root, parts[: depth - 1])
        try:
            os.rmdir(parts[depth - 1], dir_fd=above)
        except OSError:
            return
        finally:
            os.close(above)
