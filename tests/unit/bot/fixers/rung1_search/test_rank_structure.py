"""Branches that a change adds: counted in the host's own texts, and never a reason to fail."""

import pytest

from bot.fixers.rung1_search.rank_structure import MOST_PARSED, added_branches
from sandbox.types import SpanEdit, Survivor

OLD = "def f(a, b):\n    return a - b\n"


def a_survivor(old: str, new: str, start: int = 0) -> Survivor:
    edit = SpanEdit(path="a.py", start=start, end=start + len(old.encode()), text=new)
    return Survivor(template="given", path="a.py", line=1, cost=1.0, suspicion=1.0, edits=(edit,))


@pytest.mark.parametrize(
    ("new", "count"),
    [
        ("def f(a, b):\n    return a + b\n", 0),
        ("def f(a, b):\n    if a == 1:\n        return 3\n    return a - b\n", 1),
        ("def f(a, b):\n    return 3 if a == 1 and b == 2 else a - b\n", 2),
        (
            "def f(a, b):\n    try:\n        return a - b\n    except TypeError:\n        return 0\n",
            1,
        ),
        ("def f(a, b):\n    return sum(x for x in (a, b) if x)\n", 1),
    ],
)
def test_every_kind_of_branch_counts(new: str, count: int) -> None:
    assert added_branches(a_survivor(OLD, new), {"a.py": OLD}) == count


def test_branches_that_go_are_no_credit() -> None:
    old = "def f(a):\n    if a:\n        return 1\n    return 2\n"
    assert added_branches(a_survivor(old, "def f(a):\n    return 2\n"), {"a.py": old}) == 0


@pytest.mark.parametrize(
    "hostile",
    ["def f(:\n", "x = " + "(" * 3_000 + ")" * 3_000, "x = '\0'", "x = 1\n" * MOST_PARSED],
    ids=["syntax", "deep", "null", "long"],
)
def test_texts_that_cannot_be_parsed_count_nothing(hostile: str) -> None:
    assert added_branches(a_survivor(OLD, hostile), {"a.py": OLD}) == 0


def test_an_edit_that_does_not_fit_its_file_counts_nothing() -> None:
    assert added_branches(a_survivor("xx", "if a: pass\n", start=900), {"a.py": OLD}) == 0
