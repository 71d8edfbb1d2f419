"""The one line by which a fix stands in a list."""

import pytest

from bot.domain.mission import MissionContext
from bot.domain.patch import TestChange
from bot.publish.title import fix_title
from sandbox.types import TestStatus
from tests.builders import a_candidate, a_mission, a_verification, an_iteration


def mended(*names: str, title: str = "use + in add") -> MissionContext:
    table = tuple(TestChange(name=name, before=TestStatus.FAIL, after=TestStatus.PASS) for name in names)
    return a_mission(
        iterations=(an_iteration(candidate=a_candidate(title=title), verification=a_verification(table=table)),)
    )


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (("t.py::test_add",), "Fix test_add: use + in add"),
        (("t.py::test_add", "t.py::test_even"), "Fix test_add and test_even: use + in add"),
        (("t.py::test_add", "t.py::T::test_b", "t.py::test_c"), "Fix test_add and 2 more: use + in add"),
        (("t.py::test_add[1]", "t.py::test_add[2]"), "Fix test_add: use + in add"),
        (("a.py:F401#1", "b.py:F401#1", "b.py:W291#1"), "Fix F401 and W291: use + in add"),
        ((), "Fix the failing check: use + in add"),
    ],
)
def test_it_names_what_was_red_and_is_not_any_more(names: tuple[str, ...], title: str) -> None:
    assert fix_title(mended(*names)) == title


def test_the_place_comes_last() -> None:
    assert fix_title(mended("t.py::test_a", title="src/m.py: use + for -")) == "Fix test_a: use + for - in src/m.py"


def test_a_fix_in_two_steps_names_both() -> None:
    first = an_iteration(
        candidate=a_candidate(title="use == in even"), verification=a_verification(green=False, partial=True)
    )
    both = a_mission(iterations=(first, an_iteration(number=2)))
    assert fix_title(both) == "Fix test_add: use == in even; use + in add"


def test_a_test_that_is_still_red_is_not_named() -> None:
    still = a_verification(table=(TestChange(name="t.py::t", before=TestStatus.FAIL, after=TestStatus.FAIL),))
    assert fix_title(a_mission(iterations=(an_iteration(verification=still),))).startswith("Fix the failing check")


def test_a_long_one_is_cut_at_a_word() -> None:
    title = fix_title(mended("t.py::test_a", title="word " * 50))
    assert len(title) <= 90
    assert title.endswith("word…")


@pytest.mark.parametrize("text", ["fixes #1 @alice", "a\nb\x1b[31m", "[skip ci] x"])
def test_foreign_text_means_nothing_in_it(text: str) -> None:
    title = fix_title(mended(f"t.py::{text}", title=text))
    assert not {"#1", "@alice", "\n", "\x1b", "[skip ci]"} & set(title.split(" "))
    assert "\x1b" not in title
    assert "\n" not in title


def test_without_a_fix_it_still_says_something() -> None:
    assert fix_title(a_mission(iterations=())) == "Fix the failing check"
