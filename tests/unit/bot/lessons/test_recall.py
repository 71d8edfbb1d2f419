"""Which lessons bear on a failure."""

from bot.lessons.recall import rank
from tests.builders import FINGERPRINT, a_lesson


def test_more_common_words_score_higher() -> None:
    common = ("parse", "date", "format", "locale", "month")
    far = a_lesson(id="far", fingerprint="x", keywords=(*common, "offset"), sentence="")
    near = a_lesson(id="near", fingerprint="x", keywords=(*common, "zone"), sentence="")
    words = ("parse date format locale month zone",)
    found = rank([far, near], fingerprint="", error=None, words=words, limit=5)
    assert [one.lesson.id for one in found] == ["near", "far"]
    assert found[0].score > found[1].score
    assert found[0].score <= 0.7


def test_the_same_error_in_another_file_is_not_enough() -> None:
    lesson = a_lesson(fingerprint="x", keywords=(), sentence="")
    assert (
        rank([lesson], fingerprint="", error="AssertionError", words=("other.py",), limit=5) == ()
    )


def test_rare_words_tell_lessons_apart() -> None:
    common = ("invoice", "error", "expected", "returned")
    lessons = [
        a_lesson(id=word, fingerprint=word, keywords=(*common, word), sentence="")
        for word in ("rounding", "currency", "discount", "deadline", "postage")
    ]
    words = ("invoice error expected returned discount",)
    found = rank(lessons, fingerprint="", error=None, words=words, limit=3)
    assert [one.lesson.id for one in found] == ["discount"]


def test_scores_say_how_they_were_found() -> None:
    lesson = a_lesson()
    (found,) = rank([lesson], fingerprint=FINGERPRINT, error=None, words=(), limit=5)
    assert (found.score, found.reason) == (1.0, "same fingerprint")
