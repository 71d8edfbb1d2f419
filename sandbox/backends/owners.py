"""Owners of containers and folders: processes, identified beyond their reusable number."""

import os
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path

MARK = "owner"
"""Name of the file in a folder that identifies its owner."""


def owner() -> str:
    """Return the identity of this process: namespace, number and start time."""
    return f"{_namespace()}/{os.getpid()}/{_start_time(os.getpid())}"


def is_orphan(label: str) -> bool:
    """Return True if the owner in a label is known to be dead."""
    namespace, _, rest = label.rpartition("/")
    namespace, _, pid = namespace.rpartition("/")
    return namespace == _namespace() and pid.isdigit() and _start_time(int(pid)) != rest


def mark(folder: Path) -> None:
    """Record this process as the owner of a folder.

    Args:
        folder: A new folder.
    """
    (folder / MARK).write_text(owner())


def sweep(base: Path, pattern: str, remove: Callable[[Path], None] | None = None) -> int:
    """Remove folders of dead owners. Return their number.

    Args:
        base: The parent folder.
        pattern: The pattern of their names.
        remove: Replaces the default removal, for special trees.
    """
    count = 0
    for found in base.glob(f"{pattern}/{MARK}"):
        if _is_abandoned(found):
            count += 1
            if remove is None:
                shutil.rmtree(found.parent, ignore_errors=True)
            else:
                remove(found.parent)
    return count


def _is_abandoned(found: Path) -> bool:
    """Return True if a folder belongs to this user and its owner is dead."""
    try:
        mine = all(
            path.lstat().st_uid == os.geteuid() and kind(path.lstat().st_mode)
            for path, kind in ((found.parent, stat.S_ISDIR), (found, stat.S_ISREG))
        )
        return mine and is_orphan(found.read_text())
    except (OSError, UnicodeDecodeError):
        return False


def _start_time(pid: int) -> str | None:
    """Return a process's start time in kernel ticks; None if it does not exist."""
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The process name before the parenthesis may contain spaces. The start time is field 22 of the
    # line (proc_pid_stat(5)).
    return line.rpartition(b")")[2].split()[19].decode("ascii")


def _namespace() -> str:
    """Return the identity of the process id namespace: numbers are only unique within one."""
    try:
        return f"{socket.gethostname()}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()
