"""Which template worked, and what people thought of it: by this the search orders its candidates next time."""

from collections.abc import Iterable

from bot.domain.lesson import Lesson


def template_record(lessons: Iterable[Lesson], *, error: str | None) -> dict[str, tuple[int, int]]:
    """Per template: how often it won, and how often that was rejected later. With an error, of that error alone."""
    record: dict[str, tuple[int, int]] = {}
    for lesson in lessons:
        if lesson.template and lesson.outcome == "FIXED" and (error is None or lesson.error == error):
            won, rejected = record.get(lesson.template, (0, 0))
            record[lesson.template] = (won + 1, rejected + (lesson.fate in {"closed", "reverted"}))
    return record
