"""The weight of a lesson by its age: code and habits change, so old lessons say less."""

from collections.abc import Sequence
from datetime import UTC, datetime

from bot.domain.lesson import Lesson

HALF_LIFE_DAYS = 180.0
"""Age at which a lesson has half its weight, in days."""
_DAY_S = 86_400.0


def age_weights(lessons: Sequence[Lesson]) -> tuple[float, ...]:
    """Return the weight of each lesson, from 0 to 1.

    Ages count from the newest one: a repository at rest forgets nothing.

    Args:
        lessons: Lessons of one repository.
    """
    times = [_read_time(lesson.created_at) for lesson in lessons]
    newest = max(times, default=0.0)
    return tuple(0.5 ** ((newest - time) / _DAY_S / HALF_LIFE_DAYS) for time in times)


def _read_time(text: str) -> float:
    """Return a time as a timestamp; without a time zone it is UTC, an unreadable one is old."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
