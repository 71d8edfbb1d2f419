"""Records of templates, by which the search ranks its candidates."""

from collections.abc import Iterable

from bot.domain.lesson import Lesson


def template_record(lessons: Iterable[Lesson], *, error: str | None) -> dict[str, tuple[int, int]]:
    """Return, by template, how often it won and was rejected later, for one error if given."""
    record: dict[str, tuple[int, int]] = {}
    for lesson in lessons:
        if (
            lesson.template
            and lesson.outcome == "FIXED"
            and (error is None or lesson.error == error)
        ):
            won, rejected = record.get(lesson.template, (0, 0))
            record[lesson.template] = (won + 1, rejected + (lesson.fate in {"closed", "reverted"}))
    return record
