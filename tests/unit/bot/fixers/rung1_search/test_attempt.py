"""What a search told: the same change told twice is one, and what was observed stays with whom it was observed of."""

from bot.fixers.rung1_search.attempt import SearchResult, drop_duplicates
from bot.fixers.rung1_search.rank import rank_survivors
from sandbox.types import Difference, Profile, SpanEdit, Survivor, SurvivorComparison

FILES = {"calculator.py": "def f(a, b):\n    return a - b\n"}
START = FILES["calculator.py"].index("-")
CLEAN, WILD = (
    Profile(inputs=200, passing_calls=10),
    Profile(inputs=200, passing_calls=10, new_errors=9),
)


def a_survivor(new: str, template: str) -> Survivor:
    edit = SpanEdit(path="calculator.py", start=START, end=START + 1, text=new)
    return Survivor(
        template=template,
        path="calculator.py",
        line=2,
        cost=1.2,
        suspicion=1.0,
        edits=(edit,),
        description="changed",
    )


UNDONE, AGAIN, RIVAL = (
    a_survivor("+", "undo_part"),
    a_survivor("+", "swap_operator"),
    a_survivor("*", "swap_operator"),
)
SEEN = SurvivorComparison(
    clusters=(0, 0, 1),
    profiles=(CLEAN, CLEAN, WILD),
    differences=(
        Difference(first=1, second=2, input="f(1, 2)", results=("3", "2")),
        Difference(first=0, second=1, input="f(1, 2)", results=("3", "3")),
    ),
    inputs=200,
)


def test_a_rival_of_another_behaviour_stays_one_behind_a_change_that_was_told_twice() -> None:
    found = SearchResult.__new__(SearchResult)
    found.survivors, found.compared = [], None
    for event in (UNDONE, AGAIN, RIVAL, SEEN):
        found.record(event)
    survivors, compared = drop_duplicates(found.survivors, found.compared)
    assert survivors == [UNDONE, RIVAL]
    assert compared is not None
    assert (compared.clusters, compared.profiles) == ((0, 1), (CLEAN, WILD))
    assert [(one.first, one.second) for one in compared.differences] == [(0, 1)]
    ranked = rank_survivors(survivors, FILES, compared)
    assert ranked[0].behaviours == 2
    assert ranked[0].rivals == (RIVAL,)


def test_what_was_observed_of_others_is_of_none() -> None:
    assert drop_duplicates([UNDONE, RIVAL], SEEN) == ([UNDONE, RIVAL], None)
    assert drop_duplicates([UNDONE, AGAIN], None) == ([UNDONE], None)
    odd = SEEN.model_copy(update={"profiles": (CLEAN,)})
    once = drop_duplicates([UNDONE, AGAIN, RIVAL], odd)[1]
    assert once is not None
    assert once.profiles == ()
