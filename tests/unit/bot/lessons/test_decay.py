"""Old lessons say less than new ones."""

import pytest

from bot.lessons.decay import HALF_LIFE_DAYS, age_weights
from bot.lessons.recall import rank
from bot.lessons.tool_memory import template_record
from tests.builders import a_lesson

NOW, HALF_A_YEAR_AGO = "2026-07-01T00:00:00+00:00", "2026-01-02T00:00:00"
OLD = a_lesson(id="old", created_at=HALF_A_YEAR_AGO, fingerprint="x", template="guard_none")
NEW = a_lesson(id="new", created_at=NOW, fingerprint="y")


def test_ages_count_from_the_newest_lesson() -> None:
    assert HALF_LIFE_DAYS == 180
    assert age_weights([OLD, NEW]) == (0.5, 1.0)
    assert age_weights([OLD]) == (1.0,), "a repository at rest forgets nothing"
    assert age_weights([NEW, NEW.with_(created_at="?")])[1] < 0.01
    assert age_weights([]) == ()


def test_an_old_win_and_an_old_rejection_count_less() -> None:
    rejected = OLD.with_(id="no", fate="closed")
    assert template_record([OLD, rejected, NEW], error=None) == {
        "guard_none": (1.0, 0.5),
        "swap_operator": (1.0, 0.0),
    }


def test_of_two_lessons_with_the_same_words_the_newer_one_comes_first_with_a_higher_score() -> None:
    words = ("calculator add sum",)
    liked = OLD.with_(fate="merged")
    found = rank([liked, NEW], fingerprint="", error=None, words=words, limit=5)
    assert [one.lesson.id for one in found] == ["new", "old"]
    assert found[1].score == pytest.approx(0.75 * found[0].score, abs=0.001)


def test_the_same_failure_is_known_however_old_it_is() -> None:
    found = rank([OLD, NEW], fingerprint="x", error=None, words=(), limit=5)
    assert [(one.lesson.id, one.score) for one in found] == [("old", 1.0)]
