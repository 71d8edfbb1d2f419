"""Threads and children of this process."""

from __future__ import annotations

import os


def own_threads() -> int:
    """Only a process with a single thread may fork."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def has_children() -> bool:
    """Whether somebody this process started has not been waited for, where the kernel tells."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return bool(file.read().strip())
    except OSError:
        return False
