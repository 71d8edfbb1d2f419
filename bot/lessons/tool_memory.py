"""Records of templates, by which the search ranks its candidates."""

from collections.abc import Sequence

from bot.domain.lesson import Lesson
from bot.lessons.decay import age_weights


def template_record(
    lessons: Sequence[Lesson], *, error: str | None
) -> dict[str, tuple[float, float]]:
    """Return, by template, how often it won and was rejected later, for one error if given.

    An old lesson counts less than one time.
    """
    record: dict[str, tuple[float, float]] = {}
    for lesson, weight in zip(lessons, age_weights(lessons), strict=True):
        # An answered question decides about the template's fix too.
        was_shown = lesson.outcome == "FIXED" or lesson.verdict is not None
        counts = was_shown and lesson.fate != "ignored"
        if lesson.template and counts and (error is None or lesson.error == error):
            won, rejected = record.get(lesson.template, (0.0, 0.0))
            refused = weight if lesson.verdict is False else 0.0
            record[lesson.template] = (won + weight, rejected + refused)
    return record
