"""Protect this process's data from other users: no core dumps, private folders."""

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
    """Prevent core dumps, which would write keys and source code to disk.

    The size limit also covers child processes. Linux ignores it when a program such as
    systemd-coredump receives the dumps. A process that is not dumpable writes none, and other
    processes of the same user cannot read its memory.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
            log.warning("prctl(PR_SET_DUMPABLE) failed: %s", os.strerror(ctypes.get_errno()))


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents for this user only; an existing one is not changed.

    Raises:
        OSError: it cannot be created.
    """
    missing = []
    for one in (folder, *folder.parents):
        if one.is_dir():
            break
        missing.append(one)
    for one in reversed(missing):
        one.mkdir(mode=OWNER_ONLY, exist_ok=True)


def close_to_others(folder: Path, ours: frozenset[str]) -> None:
    """Make an existing folder private if we own it and it holds only our files; warn otherwise.

    Another program's folder (`/tmp`, `/srv`) may have been configured by mistake, so its
    permissions stay as they are.

    Args:
        folder: The folder.
        ours: Names of our files, up to the first dot.
    """
    found = folder.stat()
    if not found.st_mode & 0o077 or found.st_uid != os.geteuid():
        return
    foreign = [
        one.name for one in folder.iterdir() if one.name.lstrip(".").partition(".")[0] not in ours
    ]
    if found.st_mode & stat.S_ISVTX or foreign:
        log.warning("other users may look into %s: give it to MetaAgent alone, `chmod 700`", folder)
        return
    folder.chmod(OWNER_ONLY)
    log.warning("%s was open to other users and is private now", folder)
