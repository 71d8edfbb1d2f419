"""Keep what this process holds and writes from other users: no core dumps, private folders."""

import ctypes
import logging
import os
import resource
import stat
import sys
from pathlib import Path

OWNER_ONLY = 0o700
_PR_SET_DUMPABLE = 4

log = logging.getLogger(__name__)


def forbid_core_dumps() -> None:
    """Let no crash write this process's memory, which holds keys and source, to a disk.

    The limit on size covers files, also those of child processes. Linux ignores it when a program takes the dumps, as
    systemd-coredump does. A process that is not dumpable has none, and other processes of its user cannot read its
    memory.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
            log.warning("prctl(PR_SET_DUMPABLE) failed: %s", os.strerror(ctypes.get_errno()))


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for this user only; one that is there stays as it is.

    Raises:
        OSError: it cannot be made.
    """
    missing = []
    for one in (folder, *folder.parents):
        if one.is_dir():
            break
        missing.append(one)
    for one in reversed(missing):
        one.mkdir(mode=OWNER_ONLY, exist_ok=True)


def close_to_others(folder: Path, ours: frozenset[str]) -> None:
    """Make a folder that is there private again, where it is ours and holds nothing else; warn otherwise.

    Another program's folder (`/tmp`, `/srv`) may have been named by mistake: its rights are left alone.

    Args:
        folder: The folder.
        ours: First parts, up to a dot, of the names we use in it.
    """
    found = folder.stat()
    if not found.st_mode & 0o077 or found.st_uid != os.geteuid():
        return
    foreign = [one.name for one in folder.iterdir() if one.name.lstrip(".").partition(".")[0] not in ours]
    if found.st_mode & stat.S_ISVTX or foreign:
        log.warning("other users may look into %s: give it to MetaAgent alone, `chmod 700`", folder)
        return
    folder.chmod(OWNER_ONLY)
    log.warning("%s was open to other users and is private now", folder)
