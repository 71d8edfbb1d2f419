"""What became of what we proposed."""

import pytest

from bot.lessons.outcomes import concerns, with_fate
from tests.builders import a_feedback, a_lesson


@pytest.mark.parametrize(("merged", "fate"), [(True, "merged"), (False, "closed")])
def test_a_verdict_becomes_the_fate(merged: bool, fate: str) -> None:  # noqa: FBT001
    assert with_fate(a_lesson(fate="open"), a_feedback(merged=merged)).fate == fate


@pytest.mark.parametrize(
    ("told", "fate"),
    [("merged", "merged"), ("closed", "closed"), ("reverted", "reverted"), ("reopened", "open")],
)
def test_what_is_told_in_words_wins(told: str, fate: str) -> None:
    assert with_fate(a_lesson(fate="merged"), a_feedback(merged=True, fate=told)).fate == fate


def test_a_revert_is_final() -> None:
    assert with_fate(a_lesson(fate="reverted"), a_feedback(merged=True)).fate == "reverted"


@pytest.mark.parametrize(
    ("repository", "number", "expected"),
    [("42", 17, True), ("42", 18, False), ("43", 17, False), ("42", None, False)],
)
def test_a_verdict_concerns_one_pull_request(
    repository: str,
    number: int | None,
    expected: bool,  # noqa: FBT001
) -> None:
    lesson = a_lesson(repository_id=repository, pull_request=number)
    assert concerns(lesson, a_feedback(pull_request=17)) is expected
