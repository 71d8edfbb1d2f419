"""Numbers with their nouns."""

import pytest

from bot.domain.counted import counted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 doubts"), (1, "1 doubt"), (2, "2 doubts"), (21, "21 doubts")]
)
def test_one_of_a_thing_has_no_plural(number: int, words: str) -> None:
    assert counted(number, "doubt") == words


def test_an_odd_plural_is_given() -> None:
    assert [counted(n, "other fix", plural="other fixes") for n in (1, 2)] == [
        "1 other fix",
        "2 other fixes",
    ]
