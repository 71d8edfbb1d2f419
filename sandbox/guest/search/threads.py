"""How many threads this process has."""

from __future__ import annotations

import os


def own_threads() -> int:
    """Only a process with a single thread may fork."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1
