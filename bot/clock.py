"""The only module that reads the system clock."""

import time
from datetime import UTC, datetime


class SystemClock:
    """The system clock."""

    def now(self) -> datetime:
        """Return the wall-clock time, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic()
