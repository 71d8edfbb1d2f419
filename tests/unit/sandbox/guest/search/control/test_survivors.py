"""A search with enough survivors ends if one behaviour is ahead, else it goes on."""

import time

import pytest

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.context.budget import LimitReached, SearchBudget
from sandbox.guest.search.context.suite_facts import SearchJob
from sandbox.guest.search.control.survivors import Sign, is_ahead
from sandbox.guest.search.source.plain import PlainSource

CHEAP: Sign = (False, 1.0, "a")
ALIKE: Sign = (False, 1.4, "b")
DEAR: Sign = (False, 1.7, "c")
DOUBTED: Sign = (True, 0.5, "d")


@pytest.mark.parametrize(
    ("clusters", "signs", "ahead"),
    [
        ([0, 0], [CHEAP, ALIKE], True),
        ([0, 1], [CHEAP, ALIKE], False),
        ([0, 1], [CHEAP, DEAR], True),
        ([0, 1], [CHEAP, DOUBTED], True),
        ([0, 1], [DOUBTED, (True, 0.6, "e")], False),
        ([0, 1, 0, 0], [CHEAP, ALIKE, DEAR, ALIKE], True),
        ([0, 1, 0], [CHEAP, ALIKE, CHEAP], False),
        ([0, 1, 2, 0], [CHEAP, ALIKE, ALIKE, DEAR], False),
    ],
    ids=[
        *("alone", "two alike", "cheaper", "without doubts", "only doubts", "more ways"),
        *("one way twice", "no more ways than the others"),
    ],
)
def test_a_behaviour_is_ahead(clusters: list[int], signs: list[Sign], *, ahead: bool) -> None:
    assert is_ahead(clusters, signs) is ahead


def budget(**more: int) -> SearchBudget:
    job = SearchJob.read({"failing": ["t"], "root": ".", "max_survivors": 2, **more})
    return SearchBudget(job, lambda _: None, time.monotonic())


def test_enough_survivors_end_the_search_when_one_is_ahead() -> None:
    found = budget(most_survivors=4)
    found.survivors = 1
    found.check()
    found.survivors = 2
    with pytest.raises(LimitReached, match="enough"):
        found.check()


def test_without_one_ahead_the_search_goes_on_up_to_a_number_of_survivors() -> None:
    found = budget(most_survivors=4)
    asked = iter([False])
    found.is_settled = lambda: next(asked)
    found.survivors = 2
    found.start_grace_period(0.0)
    assert found.left() < 21
    found.check()
    assert not found.is_full
    found.start_grace_period(0.0)
    assert found.left() > 40
    found.check()
    assert next(asked, None) is None, "it is asked once"
    found.survivors = 4
    with pytest.raises(LimitReached, match="enough"):
        found.check()


@pytest.mark.parametrize(("before", "further"), [(10.0, 2000), (500.0, 5000)])
def test_without_one_ahead_the_search_ends_after_a_multiple_of_its_trials(
    before: float, further: int
) -> None:
    """Many small programs have fixes that no comparison ranks; they must not cost the whole time."""
    found = budget(most_survivors=4)
    found.is_settled = lambda: False
    nothing = CandidatePatch("a", 1.0, 1.0, 1, PlainSource("a.py", b""), None, ())
    found.count(nothing, before)
    found.survivors = 2
    found.check()
    found.count(nothing, further - 1)
    found.check()
    assert found.left() > 40
    found.count(nothing, 1)
    with pytest.raises(LimitReached, match="enough"):
        found.check()


def test_a_caller_that_wants_no_more_gets_no_more() -> None:
    found = budget()
    found.is_settled = lambda: False
    found.survivors = 2
    with pytest.raises(LimitReached, match="enough"):
        found.check()
