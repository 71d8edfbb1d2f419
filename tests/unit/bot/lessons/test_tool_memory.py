"""Experience becomes order."""

from bot.lessons.tool_memory import template_record
from tests.builders import a_lesson


def test_only_fixes_count_and_rejections_are_remembered() -> None:
    lessons = [
        a_lesson(id="1"),
        a_lesson(id="2", fate="closed"),
        a_lesson(id="3", fate="reverted", template="guard_none"),
        a_lesson(id="4", outcome="PARTIAL", template="guard_none"),
        a_lesson(id="5", template=None),
    ]
    assert template_record(lessons, error=None) == {"swap_operator": (2, 1), "guard_none": (1, 1)}
