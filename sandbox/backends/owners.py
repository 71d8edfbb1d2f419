"""Who made a container or a folder: this process, told apart from any other that may get its number."""

import os
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path

MARK = "owner"
"""The file in a folder that names its maker."""


def owner() -> str:
    """Who made a container: this process, told apart from any other that may get its number."""
    return f"{_namespace()}/{os.getpid()}/{_started(os.getpid())}"


def is_orphan(label: str) -> bool:
    """Whether the owner named by a label is known to be gone."""
    namespace, _, rest = label.rpartition("/")
    namespace, _, pid = namespace.rpartition("/")
    return namespace == _namespace() and pid.isdigit() and _started(int(pid)) != rest


def mark(folder: Path) -> None:
    """Write down who made a folder.

    Args:
        folder: Made just now.
    """
    (folder / MARK).write_text(owner())


def sweep(base: Path, pattern: str, remove: Callable[[Path], None] | None = None) -> int:
    """Remove folders whose maker is gone; returns how many.

    Args:
        base: Where they stand.
        pattern: Their names.
        remove: Instead of the usual way, for trees that need more.
    """
    count = 0
    for found in base.glob(f"{pattern}/{MARK}"):
        if _is_left(found):
            count += 1
            if remove is None:
                shutil.rmtree(found.parent, ignore_errors=True)
            else:
                remove(found.parent)
    return count


def _is_left(found: Path) -> bool:
    """Whether a folder of ours, and of nobody else on this host, has lost its maker."""
    try:
        mine = all(
            path.lstat().st_uid == os.geteuid() and kind(path.lstat().st_mode)
            for path, kind in ((found.parent, stat.S_ISDIR), (found, stat.S_ISREG))
        )
        return mine and is_orphan(found.read_text())
    except (OSError, UnicodeDecodeError):
        return False


def _started(pid: int) -> str | None:
    """When a process started, in the kernel's ticks; None when there is none."""
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return line.rpartition(b")")[2].split()[19].decode("ascii")


def _namespace() -> str:
    """Which set of process ids we count in: the same number elsewhere is another process."""
    try:
        return f"{socket.gethostname()}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()
