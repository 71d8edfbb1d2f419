"""What became of what we proposed."""

import pytest

from bot.domain.lesson import RememberedFix
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


@pytest.mark.parametrize("told", ["ignored", "answered"])
@pytest.mark.parametrize("fate", ["merged", "closed", "reverted"])
def test_silence_and_an_answer_undo_no_decision(told: str, fate: str) -> None:
    assert with_fate(a_lesson(fate=fate), a_feedback(merged=False, fate=told)).fate == fate


def test_the_answer_becomes_the_lesson() -> None:
    asked = a_lesson(sentence="test_add needed a person: which one is meant?")
    told = with_fate(asked, a_feedback(merged=False, fate="answered", said="the sum"))
    assert told.sentence == f"a person answered for {asked.tests[0]}: the sum"
    assert (told.fate, told.verdict) == ("answered", None)


def test_another_choice_than_ours_is_the_fix_that_is_remembered() -> None:
    fix = RememberedFix(diff="+ours", title="ours", score=0.4)
    told = a_feedback(merged=False, fate="answered", said="theirs", taken="+b", difference="+b")
    lesson = with_fate(a_lesson(fix=fix), told)
    assert lesson.fix is not None
    assert (lesson.fix.diff, lesson.verdict) == ("+b", False)
    assert with_fate(a_lesson(fix=fix), told.with_(taken="", difference="")).verdict is True


def test_a_change_with_a_secret_is_not_kept() -> None:
    fix = RememberedFix(diff="+ours", title="ours", score=0.4)
    secret = "+key = 'ghp_" + "a1B2" * 9 + "'"
    lesson = with_fate(a_lesson(fix=fix), a_feedback(taken=secret, difference=secret))
    assert lesson.fix is None
    assert "a1B2" not in lesson.difference


@pytest.mark.parametrize(("box", "verdict"), [("right", True), ("cause", False), ("", None)])
def test_a_ticked_box_decides_while_people_do_nothing(box: str, *, verdict: bool | None) -> None:
    assert a_lesson(fate="ignored", boxes=(box,)).verdict is verdict


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
