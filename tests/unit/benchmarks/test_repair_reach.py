"""How many planted bugs one edit reaches: places inside and outside of functions, and what is out of reach."""

import pytest

from benchmarks.repair import broken_lines
from benchmarks.repair_reach import common_ends, reach
from benchmarks.sets.built import Planted

RIGHT = '''"""Said."""

LIMITS = {"low": 1, "high": 10}


def clamp(value, low=0):
    if value < low:
        return low
    return min(value, LIMITS["high"])
'''


def planted(old: str, new: str) -> Planted:
    assert RIGHT.count(old) == 1
    return Planted(name="x", path="m.py", text=RIGHT.replace(old, new), failing=(), about={})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("value < low", "value <= low"),
        ("return low\n", "return value\n"),
        ('"high": 10', '"high": 11'),
    ],
)
def test_the_original_of_a_small_bug_is_among_the_candidates(old: str, new: str) -> None:
    found = reach(planted(old, new), RIGHT, 20_000)
    assert found["rank"] is not None
    assert found["template"]


def test_what_no_edit_brings_back_has_no_rank() -> None:
    found = reach(
        planted('    return min(value, LIMITS["high"])\n', "    return None\n"), RIGHT, 2_000
    )
    assert (found["rank"], found["line"]) == (None, [9])


def test_broken_lines_are_those_that_differ_and_those_around_a_gap() -> None:
    assert broken_lines("a\nb\nc\n", "a\nx\nc\n") == {2}
    assert broken_lines("a\nc\n", "a\nb\nc\n") == {1, 2}
    assert broken_lines("a\n", "a\n") == set()


def test_texts_share_their_beginning_and_their_end() -> None:
    one, other = f"{'a' * 200}x{'b' * 200}", f"{'a' * 200}yy{'b' * 200}"
    assert common_ends(one, other) == (120, 120)
    assert common_ends("abc", "abd") == (0, 0)
