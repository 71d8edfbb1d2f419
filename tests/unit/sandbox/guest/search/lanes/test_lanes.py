"""Which goals a trial asks first, who may end it early, and which lane has the last word about a survivor."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.context import search_context
from sandbox.guest.search.lanes.fresh import few_goals
from sandbox.guest.search.lanes.model import FRESH, SWAP, ReadyCandidate
from sandbox.guest.search.lanes.selection import Lanes
from sandbox.guest.search.lanes.swap import SwapLane
from sandbox.guest.search.source.plain import PlainSource

ONE = CandidatePatch("t", 1.0, 1.0, 1, PlainSource("a.py", b""), None, ())


def test_a_trial_asks_the_goals_of_the_smallest_files_first(tmp_path: Path) -> None:
    for name, size in (("test_large.py", 900), ("test_small.py", 10), ("test_middle.py", 90)):
        (tmp_path / name).write_text("#" * size)
    goals = ["test_large.py::a", "test_small.py::b", "test_middle.py::c", "test_small.py::d"]
    assert few_goals(str(tmp_path), goals) == (
        "test_small.py::b",
        "test_middle.py::c",
        "test_small.py::d",
    )


@pytest.mark.parametrize(
    "goals",
    [
        ["test_large.py::a", "test_small.py::b"],
        ["test_large.py", "test_small.py::b", "test_middle.py::c"],
        ["test_large.py::a", "test_small.py::b", "no_such_test.py::c"],
    ],
)
def test_few_files_whole_files_and_unknown_ones_are_asked_altogether(
    tmp_path: Path, goals: list[str]
) -> None:
    for name in ("test_large.py", "test_small.py", "test_middle.py"):
        (tmp_path / name).write_text("")
    assert few_goals(str(tmp_path), goals) == tuple(goals)


def test_behind_a_first_edit_what_it_does_not_mend_is_asked_first_and_has_to_pass() -> None:
    code: Any = test_few_files_whole_files_and_unknown_ones_are_asked_altogether.__code__
    function = SimpleNamespace(__code__=code)
    unit: Any = object()
    facts: Any = SimpleNamespace(
        items=SimpleNamespace(names=["a", "b", "c", "d"]),
        tests_through=lambda _: ([0, 1, 2], [3]),
        live=SimpleNamespace(takes=lambda *_: True, swaps=lambda *_: [(function, code)]),
    )
    ready = SwapLane(facts).ready(
        ONE._replace(unit=unit), code, ONE._replace(unit=unit), already_fixed=("a", "c")
    )
    assert ready is not None
    assert (ready.trial.failing, ready.trial.passing, ready.trial.hopes) == ([1, 0, 2], [3], 1)
    first = SwapLane(facts).ready(ONE._replace(unit=unit), code, None)
    assert first is not None
    assert (first.trial.failing, first.trial.hopes) == ([0, 1, 2], 0), "any may pass"


class Lane:
    """Confirms what it is told to."""

    def __init__(self, *reached: str) -> None:
        self.reached = reached
        self.asked = 0
        self.suite = SimpleNamespace(passing=())

    def confirm(self, _what: object, _left: Callable[[], float]) -> tuple[str, ...]:
        self.asked += 1
        return self.reached


def lanes(unseen: frozenset[str], **some: Lane) -> Lanes:
    context: Any = SimpleNamespace(
        request=SimpleNamespace(lanes=()),
        reach=search_context.TestReach(unseen=unseen),
        goals=("test_a", "test_tool"),
        facts=None,
    )
    budget: Any = SimpleNamespace(note=lambda _: None, left=lambda: 9.0)
    means: Any = SimpleNamespace(tree=SimpleNamespace(guard=SimpleNamespace(guards_tree=True)))
    made = Lanes(context, budget, means)
    for name, lane in some.items():
        setattr(made, name, lane)
    return made


def confirmed(made: Lanes, lane: str) -> tuple[str, ...]:
    files: Mapping[str, bytes] = {"a.py": b""}
    return made.confirm(
        ReadyCandidate(ONE, lane, dict(files), SimpleNamespace(swaps=())), lambda: 9.0
    )


TOOL = frozenset({"test_tool"})


@pytest.mark.parametrize("lane", [SWAP, FRESH])
def test_goals_that_run_in_processes_of_their_own_are_confirmed_with_files(lane: str) -> None:
    cold = Lane("test_a", "test_tool")
    found = confirmed(lanes(TOOL, swap=Lane("test_a"), fresh=Lane("test_a"), cold=cold), lane)
    assert sorted(found) == ["test_a", "test_tool"]
    assert cold.asked == 1


def test_what_files_refute_is_no_fix() -> None:
    assert (
        confirmed(lanes(TOOL, swap=Lane("test_a"), fresh=Lane("test_a"), cold=Lane()), SWAP) == ()
    )
    assert confirmed(
        lanes(TOOL, swap=Lane("test_a"), fresh=Lane("test_a"), cold=Lane("test_a")), SWAP
    ) == ("test_a",)


def test_half_a_fix_is_not_worth_a_run_with_files() -> None:
    fresh, cold = Lane("test_a"), Lane("test_a", "test_tool")
    assert confirmed(lanes(frozenset(), swap=Lane("test_a"), fresh=fresh, cold=cold), SWAP) == (
        "test_a",
    )
    assert (fresh.asked, cold.asked) == (0, 0)
    assert confirmed(lanes(frozenset(), fresh=fresh, cold=cold), FRESH) == ("test_a",)
    assert (fresh.asked, cold.asked) == (1, 0), "a goal that runs here is missing"


def test_where_goals_may_be_unseen_no_other_process_is_asked_when_all_are_reached() -> None:
    cold = Lane()
    fresh = Lane("test_a", "test_tool")
    assert sorted(confirmed(lanes(TOOL, fresh=fresh, cold=cold), FRESH)) == ["test_a", "test_tool"]
    assert cold.asked == 0
