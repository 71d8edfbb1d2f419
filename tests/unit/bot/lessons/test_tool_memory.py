"""Experience becomes order."""

from hypothesis import given
from hypothesis import strategies as st

from bot.lessons.tool_memory import MOST, cost_adjustments, template_record
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


def test_winners_are_tried_earlier_and_rejected_ones_later() -> None:
    found = cost_adjustments({"often": (8, 0), "once": (1, 0), "mixed": (2, 1), "unwanted": (3, 3), "never": (0, 0)})
    assert found["often"] < found["once"] < found["mixed"] == 0.0 < found["unwanted"]
    assert "never" not in found


@given(st.dictionaries(st.text(min_size=1), st.tuples(st.integers(0, 10_000), st.integers(0, 10_000))))
def test_experience_never_outweighs_the_candidate_itself(record: dict[str, tuple[int, int]]) -> None:
    assert all(abs(change) <= MOST for change in cost_adjustments(record).values())
