"""Records of templates, by which the search ranks its candidates."""

from collections.abc import Iterable

from bot.domain.lesson import Lesson


def template_record(lessons: Iterable[Lesson], *, error: str | None) -> dict[str, tuple[int, int]]:
    """Return, by template, how often it won and was rejected later, for one error if given."""
    record: dict[str, tuple[int, int]] = {}
    for lesson in lessons:
        # An answered question decides about the template's fix too.
        was_shown = lesson.outcome == "FIXED" or lesson.verdict is not None
        counts = was_shown and lesson.fate != "ignored"
        if lesson.template and counts and (error is None or lesson.error == error):
            won, rejected = record.get(lesson.template, (0, 0))
            record[lesson.template] = (won + 1, rejected + (lesson.verdict is False))
    return record
