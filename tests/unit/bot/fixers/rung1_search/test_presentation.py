"""What people read about a fix of the search."""

import pytest

from bot.fixers.rung1_search.attempt import RankedFix, SearchResult
from bot.fixers.rung1_search.presentation import build_candidate
from bot.fixers.rung1_search.rank import rank_survivors
from bot.publish.candidates import SearchReport, searched_json
from sandbox.types import Profile, SearchRequest, SpanEdit, Survivor, SurvivorComparison
from tests.builders import a_report

OLD = "def f(a, b):\n    return a - b\n"
FILES = {"calculator.py": OLD}
START = OLD.index("-")
FIX = Survivor(
    template="swap_operator",
    path="calculator.py",
    line=2,
    cost=1.2,
    suspicion=1.0,
    edits=(SpanEdit(path="calculator.py", start=START, end=START + 1, text="+"),),
    description="`-` became `+`",
    warnings=("odd",),
)


def found_with(profile: Profile) -> SearchResult:
    """A search that found the fix and observed this of it."""
    compared = SurvivorComparison(clusters=(0,), profiles=(profile,), inputs=9)
    found = SearchResult(SearchRequest(command="pytest", failing=("t",)))
    found.survivors, found.compared, found.originals = [FIX], compared, FILES
    (ranked,) = rank_survivors([FIX], FILES, compared)
    found.shown = (RankedFix(ranked, ()),)
    return found


@pytest.mark.parametrize(
    ("counts", "doubts"),
    [
        ({"new_lines": 5, "unrun": 2, "run_once": 1}, ["no test was seen to run 2 of its 5 new lines"]),
        ({"new_lines": 1, "unrun": 1}, ["no test was seen to run its new line"]),
        ({"new_lines": 5, "run_once": 5}, []),
        ({}, []),
        ({"new_lines": 1, "unrun": 7}, []),
    ],
    ids=["some", "one", "all are run", "not counted", "numbers that do not fit"],
)  # fmt: skip
def test_new_lines_that_no_test_runs_are_a_doubt_that_does_not_weigh(
    counts: dict[str, int], doubts: list[str]
) -> None:
    seen = Profile(inputs=9, passing_calls=10)
    found = found_with(seen.with_(**counts))
    candidate = build_candidate(found.shown[0], found)
    assert candidate.warnings == ("odd", *doubts)
    plain = found_with(seen)
    assert candidate.score == build_candidate(plain.shown[0], plain).score
    (shown,) = searched_json(SearchReport("FOUND", "", a_report(), 1, found))["candidates"]
    assert shown["doubts"] == ["odd", *doubts]
