"""A mission's search does not see a third of the passing tests near the failure; fewer than six are all shown."""

from collections.abc import Iterable

import pytest

from bot.domain.patch import Candidate, FixBudget
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.request import hold_out_tests
from bot.publish.report import mission_report
from bot.publish.story import build_story
from bot.publish.terminal import report_text
from sandbox.types import SpanEdit, Survivor, TestReport, TestStatus, TrialDone
from tests.builders import (
    a_candidate,
    a_diagnosis,
    a_mission,
    a_report,
    a_running_mission,
    an_iteration,
)
from tests.fakes.fake_workspace import FakeWorkspace
from tests.fakes.memory_lessons import MemoryLessons

RED = "tests/test_near.py::Near::test_red"
FAR = [f"tests/test_far.py::test_{number}" for number in range(9)]


def near(count: int) -> list[str]:
    return [f"tests/test_near.py::Near::test_{number:02}[a::b]" for number in range(count)]


def red(passing: Iterable[str], *failing: str, runner: str = "pytest") -> TestReport:
    outcomes = dict.fromkeys(passing, TestStatus.PASS) | dict.fromkeys(
        failing or (RED,), TestStatus.FAIL
    )
    return a_report(outcomes=outcomes, runner=runner)


@pytest.mark.parametrize(("count", "held"), [(0, 0), (5, 0), (6, 2), (7, 2), (9, 3), (30, 10)])
@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_a_third_of_six_and_more_near_the_failure_is_held_out(
    count: int, held: int, runner: str
) -> None:
    report = red([*near(count), *FAR], runner=runner)
    hidden = hold_out_tests(report, seed=3)
    assert len(hidden) == held
    assert set(hidden) <= set(near(count)), "tests elsewhere are all shown"
    assert hidden == hold_out_tests(report, seed=3)


def test_the_seed_chooses_and_every_file_with_a_failing_test_is_near() -> None:
    report = red(near(12))
    assert len({hold_out_tests(report, seed) for seed in range(8)}) > 1
    both = red([*near(3), *FAR[:3]], RED, "tests/test_far.py::test_red")
    assert len(hold_out_tests(both, seed=0)) == 2


@pytest.mark.anyio
@pytest.mark.parametrize(("count", "held"), [(5, 0), (9, 3)])
async def test_the_search_of_a_mission_is_not_shown_what_is_held_out(count: int, held: int) -> None:
    report = red([*near(count), *FAR])
    old = "def f(a, b):\n    return a - b\n"
    edit = SpanEdit(path="calculator.py", start=old.index("-"), end=old.index("-") + 1, text="+")
    survivor = Survivor(
        template="t", path="calculator.py", line=2, cost=1.0, suspicion=1.0, edits=(edit,)
    )
    workspace = FakeWorkspace(
        {"calculator.py": old}, events=(survivor, TrialDone(reason="enough", tried=4))
    )
    fixer = SearchFixer(MemoryLessons())
    context = a_running_mission(test_results=report)
    (candidate,) = [
        one async for one in fixer.propose(context, a_diagnosis(), workspace, FixBudget())
    ]
    (request,) = workspace.searches
    assert len(request.held_out) == held
    assert not set(request.passing) & set(request.held_out)
    assert set(request.passing) | set(request.held_out) == report.passing
    assert isinstance(candidate, Candidate)
    assert candidate.held_out == held


@pytest.mark.parametrize(
    ("held", "words"),
    [(0, "| none |"), (4, "| 4 passing near the failure; the verification ran them |")],
)
def test_the_report_says_how_many_were_held_out(held: int, words: str) -> None:
    mission = a_mission(iterations=(an_iteration(candidate=a_candidate(held_out=held)),))
    (line,) = [
        one
        for one in mission_report(build_story(mission)).splitlines()
        if "held out from the search" in one
    ]
    assert line.endswith(words)
    in_a_terminal = "tests held out from the search: 4 passing near the failure" in report_text(
        mission
    )
    assert in_a_terminal is bool(held)
