"""Which template worked, and where: the order in which they are tried next time."""

from collections.abc import Iterable, Mapping

from bot.domain.lesson import Lesson

MOST = 0.3
"""A template's cost changes by at most this: experience orders equals, it does not overrule what a candidate is."""
DOUBT = 4.0
"""Missions after which experience weighs half; a single lucky one hardly counts."""


def template_record(lessons: Iterable[Lesson], *, error: str | None) -> dict[str, tuple[int, int]]:
    """Per template: how often it won, and how often that was rejected later. With an error, of that error alone."""
    record: dict[str, tuple[int, int]] = {}
    for lesson in lessons:
        if lesson.template and lesson.outcome == "FIXED" and (error is None or lesson.error == error):
            won, rejected = record.get(lesson.template, (0, 0))
            record[lesson.template] = (won + 1, rejected + (lesson.fate in {"closed", "reverted"}))
    return record


def cost_adjustments(record: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    """What to add to each template's cost: below zero is tried earlier, above zero later.

    A win pulls down, a win that people rejected pushes up; both grow slowly with the number of missions.
    """
    adjustments = {}
    for template, (won, rejected) in record.items():
        if won <= 0:
            continue
        kept_share = (won - 2 * min(rejected, won)) / won
        adjustments[template] = round(-MOST * kept_share * won / (won + DOUBT), 4)
    return adjustments
