"""Waiting for a condition."""

import time
from collections.abc import Callable

Waiter = Callable[[], bool]


def wait_until(condition: Waiter, timeout: float) -> bool:
    """Poll a condition."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
