"""A plain run of the command refutes what only the search believed."""

from collections.abc import Mapping

import pytest

from bot.fixers.rung1_search.attempt import SearchResult, run_search
from bot.fixers.rung1_search.plain_run import MOST_RUNS, drop_refuted
from sandbox.types import (
    RunVerdict,
    SearchRequest,
    SpanEdit,
    Survivor,
    TestReport,
    TestResult,
    TestStatus,
    TrialDone,
    TrialEvent,
)
from tests.fakes.fake_workspace import FakeWorkspace

OLD = "def f(a, b):\n    return a - b\n"
REQUEST = SearchRequest(command="pytest", failing=("t.py::red",), passing=("t.py::green",))


def a_survivor(new: str) -> Survivor:
    start = OLD.index("a - b")
    edit = SpanEdit(path="calculator.py", start=start, end=start + 5, text=new)
    return Survivor(
        template="swap_operator",
        path="calculator.py",
        line=2,
        cost=1.0,
        suspicion=1.0,
        edits=(edit,),
        description=new,
    )


def a_run(verdict: RunVerdict, *red: str) -> TestReport:
    outcomes = dict.fromkeys(red, TestStatus.FAIL)
    failures = tuple(TestResult(name=name, status=TestStatus.FAIL) for name in red)
    return TestReport(
        success=verdict is RunVerdict.PASS, failed=bool(red), exit_code=1 if red else 0, target="pytest",
        summary="said so", failure_count=len(red), failures=failures, verdict=verdict, runner="pytest", outcomes=outcomes,
    )  # fmt: skip


async def held(answers: dict[str, TestReport]) -> tuple[SearchResult, FakeWorkspace]:
    """What is left of a search that found these edits, each with what a plain run gives."""

    def judge(files: Mapping[str, str], _: str) -> TestReport:
        return answers[files["calculator.py"].split("return ")[1].strip()]

    events: list[TrialEvent] = [
        *(a_survivor(new) for new in answers),
        TrialDone(reason="enough", tried=9),
    ]
    workspace = FakeWorkspace({"calculator.py": OLD}, events=events, judge=judge)
    found = await run_search(workspace, REQUEST)
    await drop_refuted(workspace, found)
    return found, workspace


def descriptions(found: SearchResult) -> set[str]:
    return {shown.ranked.survivor.description for shown in found.shown}


@pytest.mark.anyio
async def test_a_fix_that_holds_is_kept_and_the_workspace_put_back() -> None:
    found, workspace = await held({"a + b": a_run(RunVerdict.PASS)})
    assert descriptions(found) == {"a + b"}
    assert (found.plain_run, found.refuted) == ("said so", 0)
    assert workspace.texts() == {"calculator.py": OLD}
    assert workspace.commands == ["pytest"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "report",
    [
        a_run(RunVerdict.FAIL, "t.py::red"),
        a_run(RunVerdict.FAIL, "t.py::green"),
        a_run(RunVerdict.FAIL, "t.py"),
        a_run(RunVerdict.TIMEOUT),
        a_run(RunVerdict.NO_VERDICT),
    ],
    ids=["still red", "breaks another", "breaks the file", "does not end", "says nothing"],
)
async def test_what_a_plain_run_refutes_is_not_shown(report: TestReport) -> None:
    found, workspace = await held({"b - a": report})
    assert found.shown == ()
    assert (found.plain_run, found.refuted) == ("", 1)
    assert "failed a plain run" in found.why_none
    assert workspace.texts() == {"calculator.py": OLD}


@pytest.mark.anyio
async def test_tests_that_nobody_asked_for_may_go_on_failing() -> None:
    found, _ = await held({"a + b": a_run(RunVerdict.FAIL, "other.py::red")})
    assert descriptions(found) == {"a + b"}


@pytest.mark.anyio
async def test_after_so_many_that_are_refuted_nothing_of_the_search_is_believed() -> None:
    red = a_run(RunVerdict.FAIL, "t.py::red")
    found, workspace = await held({f"a + b + {n}": red for n in range(MOST_RUNS + 1)})
    assert len(workspace.commands) == MOST_RUNS
    assert (found.shown, found.refuted, found.plain_run) == ((), MOST_RUNS, "")


@pytest.mark.anyio
async def test_a_fix_that_is_told_twice_is_one() -> None:
    events: list[TrialEvent] = [
        a_survivor("a + b"),
        a_survivor("a + b"),
        TrialDone(reason="enough", tried=9),
    ]
    found = await run_search(FakeWorkspace({"calculator.py": OLD}, events=events), REQUEST)
    assert len(found.survivors) == len(found.shown) == 1
