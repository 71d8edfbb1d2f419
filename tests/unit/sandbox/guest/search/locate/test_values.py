"""Values that should have been equal: where they differ and which literals explain it."""

import pytest

from sandbox.guest.search.locate.values import (
    collect_clues,
    find_differences,
    fragments,
    literal_score,
    split_words,
)


@pytest.mark.parametrize(
    ("one", "two", "pairs"),
    [
        ("foo-bar", "foo_bar", [("foo-bar", "foo_bar")]),
        ([1, 2, 3], [1, 5, 3], [(2, 5)]),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [(2, 3)]),
        ({"a": 1}, {"b": 1}, [("a", None), (None, "b")]),
        ([1], [1, 2], [(None, 2), (1, 2)]),
        ({1, 2}, {2, 3}, [(1, None), (None, 3)]),
        (None, 0, [(None, 0)]),
        (True, 1, [(True, 1)]),
        ([[1, {"k": "x"}]], [[1, {"k": "y"}]], [("x", "y")]),
        (1, 1, []),
        (object, 1, [(None, 1)]),
    ],
)
def test_the_leaves_at_which_two_values_differ_are_named(
    one: object, two: object, pairs: list[object]
) -> None:
    assert find_differences(one, two) == pairs


def test_a_value_that_holds_itself_has_an_end() -> None:
    one: list[object] = []
    one.append(one)
    two: list[object] = [1]
    two.append(two)
    assert len(find_differences(one, two)) <= 12


@pytest.mark.parametrize(
    ("one", "two", "pieces"),
    [("foo-bar", "foo_bar", ["-", "_"]), ("1 minuts", "1 minutes", ["e"]), ("same", "same", [])],
)
def test_the_parts_in_which_texts_differ(one: str, two: str, pieces: list[str]) -> None:
    assert list(dict.fromkeys(fragments(one, two))) == pieces


@pytest.mark.parametrize(
    ("pairs", "literal", "good"),
    [
        ([("foo-bar", "foo_bar")], "-", True),
        ([("foo-bar", "foo_bar")], "+", False),
        ([("1 minuts", "1 minutes")], "%d minuts", True),
        ([("1 minuts", "1 minutes")], "{} hours", False),
        ([(1024, 1000)], 1024, True),
        ([(1024, 1000)], 24, True),
        ([(1024, 1000)], 7, False),
        ([("KB", "kB")], "KB", True),
        ([(True, False)], True, False),
    ],
)
def test_a_literal_of_the_source_is_telling_when_it_explains_the_difference(
    pairs: list[tuple[object, object]], literal: object, *, good: bool
) -> None:
    assert (literal_score(literal, collect_clues(pairs)) >= 0.4) is good


def test_small_numbers_tell_little() -> None:
    clues = collect_clues([(1, 2)])
    assert 0 < literal_score(1, clues) < 0.3


def test_names_have_words() -> None:
    assert list(split_words("parseISODate_of_x2")) == ["parse", "iso", "date"]
