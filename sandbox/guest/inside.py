"""Access to files below a folder that never follows a symbolic link: one component at a time."""

import contextlib
import os
import stat
from typing import List, Optional

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO must not block.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PathRefused(Exception):
    """A request would leave the work tree, follow a link or exceed a limit."""


def split_path(path: str) -> List[str]:
    """Split a relative path into its components.

    Raises:
        Refused: The path is empty, absolute, goes up, or contains a NUL.
    """
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise PathRefused("the path %r does not name a file below the work tree" % path[:200])
    return parts


def open_folder(name: str, parent: Optional[int] = None) -> int:
    """Open a folder, restoring our permissions if they were removed."""
    try:
        folder = os.open(name, FOLDER, dir_fd=parent)
    except PermissionError:
        if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise
        os.chmod(name, 0o700, dir_fd=parent)
        folder = os.open(name, FOLDER, dir_fd=parent)
    if os.fstat(folder).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        with contextlib.suppress(OSError):
            os.fchmod(folder, stat.S_IRWXU)
    return folder


def open_file(name: str, folder: int) -> int:
    """Open a file for reading, restoring our permission if it was removed."""
    try:
        return os.open(name, FILE, dir_fd=folder)
    except PermissionError:
        os.chmod(name, 0o600, dir_fd=folder)
        return os.open(name, FILE, dir_fd=folder)


def read_all(fd: int, limit: int) -> bytes:
    """Read at most `limit` bytes of an open file, and close it."""
    with os.fdopen(fd, "rb", buffering=0) as file:
        pieces = []
        while limit > 0:
            piece = file.read(limit)
            if not piece:
                break
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces)


def open_root(root: str) -> int:
    """Open the work tree, also if a test removed the permissions of it or its parent.

    Raises:
        Refused: The work tree is gone or not a folder any more.
    """
    try:
        above = open_folder(os.path.dirname(root))
        try:
            return open_folder(os.path.basename(root), above)
        finally:
            os.close(above)
    except OSError as error:
        raise PathRefused("the work tree is gone: %s" % error.strerror) from error


def open_below(root: str, parts: List[str], *, make: bool = False) -> int:
    """Open a folder below the work tree.

    Args:
        root: The work tree.
        parts: The folder's components, outermost first.
        make: Whether to create missing folders.

    Raises:
        OSError: The folder does not exist, or a link is in the way.
    """
    folder = open_root(root)
    for name in parts:
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=folder)
            inner = open_folder(name, folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def read_status(root: str, path: str) -> Optional[os.stat_result]:
    """Return the status of a path without following a link; None if it does not exist."""
    parts = split_path(path)
    try:
        folder = open_below(root, parts[:-1])
    except OSError:
        return None
    try:
        return os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    finally:
        os.close(folder)
