"""A clock that moves only when it is told to, or by a fixed step each time it is read."""

from datetime import UTC, datetime, timedelta


class FixedClock:
    """Starts on 2 January 2026.

    Args:
        step: Seconds that pass with every reading of `monotonic`.
    """

    def __init__(self, step: float = 0.0) -> None:
        self._step = step
        self._seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC) + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        self._seconds += self._step
        return self._seconds

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._seconds += seconds
