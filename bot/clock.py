"""The one place that asks the system for the time."""

import time
from datetime import UTC, datetime


class SystemClock:
    """The real time."""

    def now(self) -> datetime:
        """The wall clock, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()
