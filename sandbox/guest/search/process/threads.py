"""Threads and children of this process."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any


def own_threads() -> int:
    """Return the number of threads; only a process with one thread may fork."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def has_children() -> bool:
    """Return True if a child was not waited for, as far as the kernel lists them."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return bool(file.read().strip())
    except OSError:
        return False


def trace_threads(hook: Any) -> None:
    """Trace this thread and those that start from now on; None ends it.

    Handlers of web frameworks and executors run in threads of their own. Python 3.12 can also reach
    threads that run already.
    """
    getattr(threading, "settrace_all_threads", threading.settrace)(hook)
    sys.settrace(hook)


def profile_threads(hook: Any) -> None:
    """Profile this thread and those that start from now on; None ends it."""
    getattr(threading, "setprofile_all_threads", threading.setprofile)(hook)
    sys.setprofile(hook)
