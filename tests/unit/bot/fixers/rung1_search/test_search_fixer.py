"""SearchFixer: what it asks the sandbox, and what it makes of the answers."""

import pytest

from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.locate import suspect_lines
from bot.fixers.rung1_search.order import MOST, template_shifts
from bot.fixers.rung1_search.partial import partial_fixes
from sandbox.types import (
    Difference,
    Profile,
    SearchNearMiss,
    SourceDiff,
    SpanEdit,
    Survivor,
    SurvivorComparison,
    SuspectLine,
    TrialDone,
    TrialEvent,
    TrialStarted,
)
from tests.builders import TEST, a_diagnosis, a_failure, a_lint_report, a_report, a_running_mission
from tests.fakes.fake_workspace import FakeWorkspace
from tests.fakes.memory_lessons import MemoryLessons

OLD = "def f(a, b):\n    return a - b\n"


def edit(path: str, old: str, new: str) -> SpanEdit:
    start = OLD.index(old)
    return SpanEdit(path=path, start=start, end=start + len(old), text=new)


def a_survivor(new: str = "a + b", **changes: object) -> Survivor:
    given: dict[str, object] = {
        "template": "swap_operator",
        "path": "calculator.py",
        "line": 2,
        "cost": 1.2,
        "suspicion": 1.0,
        "edits": (edit("calculator.py", "a - b", new),),
        "description": "`-` became `+`",
        "behaviour": "aa",
    }
    return Survivor.model_validate({**given, **changes})


async def proposed(
    *events: TrialEvent, budget: FixBudget | None = None
) -> tuple[list[object], FakeWorkspace]:
    workspace = FakeWorkspace({"calculator.py": OLD}, events=events)
    context = a_running_mission(test_results=a_report())
    fixer = SearchFixer(MemoryLessons())
    found = [
        p async for p in fixer.propose(context, a_diagnosis(), workspace, budget or FixBudget())
    ]
    return list(found), workspace


@pytest.mark.anyio
async def test_a_survivor_becomes_a_candidate_that_replaces_the_file() -> None:
    found, _ = await proposed(a_survivor(), TrialDone(reason="enough", tried=40, seconds=1.5))
    (candidate,) = found
    assert isinstance(candidate, Candidate)
    assert (candidate.rung, candidate.template, candidate.candidates_tried) == (
        Rung.SEARCH,
        "swap_operator",
        40,
    )
    assert candidate.changes[0].content == OLD.replace("-", "+")
    assert (candidate.plausible, candidate.behaviours, candidate.rivals) == (1, 1, ())


@pytest.mark.anyio
async def test_rivals_that_behave_differently_are_named() -> None:
    rival = a_survivor(
        "b - a", template="swap_operands", cost=1.5, behaviour="bb", description="sides exchanged"
    )
    found, _ = await proposed(a_survivor(), rival, TrialDone(reason="enough"))
    first, second = found
    assert isinstance(first, Candidate)
    assert isinstance(second, Candidate)
    assert first.rivals[0].description == "sides exchanged"
    assert (first.plausible, first.behaviours) == (2, 2)
    assert first.score > second.score
    assert "do not distinguish it from" in first.explanation
    assert second.template == "swap_operands"


@pytest.mark.anyio
async def test_a_rival_carries_the_smallest_input_and_both_results() -> None:
    rival = a_survivor(
        "b - a", template="swap_operands", cost=2.9, behaviour="", description="sides exchanged"
    )
    compared = SurvivorComparison(
        clusters=(0, 1),
        profiles=(Profile(inputs=9, mutants=4, mutants_killed=3), Profile(inputs=9)),
        differences=(Difference(first=0, second=1, input="f(0, 1)", results=("1", "-1")),),
        inputs=9,
    )
    found, _ = await proposed(a_survivor(behaviour=""), rival, compared, TrialDone(reason="enough"))
    first, second = found
    assert isinstance(first, Candidate)
    assert isinstance(second, Candidate)
    assert (first.rivals[0].distinguishing_input, first.rivals[0].results) == (
        "f(0, 1)",
        ("1", "-1"),
    )
    assert second.rivals[0].results == ("-1", "1")
    assert (first.inputs, first.ranked, second.confident) == (9, True, False)
    assert first.mutants is not None
    assert (first.mutants.killed, first.mutants.tried) == (3, 4)
    assert second.mutants is None


@pytest.mark.anyio
@pytest.mark.parametrize(
    "wrong",
    [
        SpanEdit(path="calculator.py", start=0, end=9999, text="x"),
        SpanEdit(path="missing.py", start=0, end=1, text="x"),
        SpanEdit(path="large.py", start=0, end=1, text="x"),
        SpanEdit(path="umlaut.py", start=1, end=2, text="x"),
    ],
)
async def test_edits_that_fit_no_file_are_no_fix_and_no_rival(wrong: SpanEdit) -> None:
    lie = a_survivor(path=wrong.path, edits=(wrong,), cost=0.0, template="lie", behaviour="bb")
    events = (
        lie,
        a_survivor(),
        SurvivorComparison(clusters=(0, 1), inputs=9),
        TrialDone(reason="enough", tried=40),
    )
    files = {"calculator.py": OLD, "large.py": "#" * (2 << 20), "umlaut.py": "# \u00e4"[2:]}
    context = a_running_mission(test_results=a_report())
    fixer = SearchFixer(MemoryLessons())
    workspace = FakeWorkspace(files, events=events)
    (candidate,) = [p async for p in fixer.propose(context, a_diagnosis(), workspace, FixBudget())]
    assert isinstance(candidate, Candidate)
    assert (candidate.template, candidate.plausible, candidate.rivals) == ("swap_operator", 1, ())
    assert candidate.inputs == 0, "what was compared is about others"


@pytest.mark.anyio
async def test_a_search_that_tells_of_nothing_but_misfits_leaves_a_note() -> None:
    lie = a_survivor(edits=(SpanEdit(path="calculator.py", start=0, end=9999, text="x"),))
    (note,) = (await proposed(lie, TrialDone(reason="enough", tried=7)))[0]
    assert isinstance(note, RungNote)
    assert note.candidates_tried == 7


@pytest.mark.anyio
async def test_no_survivor_leaves_a_note_that_says_why() -> None:
    found, _ = await proposed(TrialDone(reason="time", tried=7))
    (note,) = found
    assert isinstance(note, RungNote)
    assert (note.candidates_tried, "time limit" in note.reason) == (7, True)


def a_near_miss(path: str, *fixed: str) -> SearchNearMiss:
    return SearchNearMiss(
        template="swap_operator",
        path=path,
        line=2,
        edits=(edit(path, "def", f"# {path}\ndef"),),
        fixed=fixed,
    )


@pytest.mark.anyio
async def test_partial_fixes_are_proposed_when_nothing_mends_everything() -> None:
    (name, *_) = sorted(a_report().failing)
    found, _ = await proposed(
        a_near_miss("calculator.py", name), TrialDone(reason="exhausted", tried=5)
    )
    candidate, note = found
    assert isinstance(candidate, Candidate)
    assert isinstance(note, RungNote)
    assert candidate.score < 0.5


def test_partial_fixes_of_different_files_are_joined() -> None:
    one, other, same = (
        a_near_miss("a.py", "t1"),
        a_near_miss("b.py", "t2"),
        a_near_miss("a.py", "t3"),
    )
    assert partial_fixes([one, other, same], ["t1", "t2"])[0] == (one, other)
    assert partial_fixes([one, same], ["t1", "t2", "t3"]) == ((one,), (same,))
    assert partial_fixes([a_near_miss("a.py", "not asked for")], ["t1"]) == ()


@pytest.mark.anyio
async def test_the_request_carries_budget_tests_and_suspects() -> None:
    _, workspace = await proposed(
        budget=FixBudget(time_limit_s=12.0, max_candidates=9, max_survivors=3)
    )
    (request,) = workspace.searches
    assert request.failing == tuple(sorted(a_report().failing))
    assert (request.time_limit_s, request.max_candidates, request.max_survivors) == (11.0, 9, 3)
    assert {"conftest.py", "tests.py", "*/tests.py"} <= set(request.protected)
    assert request.suspects


@pytest.mark.anyio
async def test_what_is_not_pytest_is_left_to_others() -> None:
    workspace = FakeWorkspace({"calculator.py": OLD})
    context = a_running_mission(test_results=a_lint_report())
    fixer = SearchFixer(MemoryLessons())
    (note,) = [p async for p in fixer.propose(context, a_diagnosis(), workspace, FixBudget())]
    assert isinstance(note, RungNote)
    assert workspace.searches == []


def test_changed_lines_come_before_frames_and_reasons_add_up() -> None:
    failure = a_failure(
        frames=(("tests/test_a.py", 3, "test_a"), ("a.py", 5, "f"), ("a.py", 9, "g"))
    )
    diff = SourceDiff(files={"a.py": (5, 7)})
    lines = suspect_lines(a_diagnosis(suspects=()), [failure], diff)
    assert [(s.file, s.line) for s in lines] == [("a.py", 5), ("a.py", 7), ("a.py", 9)]
    assert lines[0].score > 0.9


def test_deep_recursion_counts_a_line_once() -> None:
    failure = a_failure(frames=(("a.py", 5, "f"),) * 30)
    (line,) = suspect_lines(a_diagnosis(suspects=()), [failure], SourceDiff())
    assert line.score == 0.8


def test_templates_that_won_come_earlier_and_rejected_ones_later() -> None:
    shifts = template_shifts(
        {"swap_operator+imports": (3, 0), "wrap_call": (0, 2), "clamp": (0, 0)}
    )
    assert shifts["swap_operator"] == shifts["imports"] < 0 < shifts["wrap_call"]
    assert shifts["clamp"] == 0


def test_memory_never_moves_a_template_far() -> None:
    assert template_shifts({"swap_operator": (10**6, 0), "wrap_call": (0, 10**6)}) == {
        "swap_operator": -MOST,
        "wrap_call": MOST,
    }


@pytest.mark.anyio
async def test_what_it_came_close_to_and_where_it_looked_is_told_to_the_rungs_above() -> None:
    miss = SearchNearMiss(
        template="swap_operator",
        path="calculator.py",
        line=2,
        edits=(edit("calculator.py", "a - b", "b - a"),),
        fixed=(TEST, "made up"),
        description="sides exchanged",
    )
    off = miss.with_(edits=(SpanEdit(path="calculator.py", start=5, end=900, text=""),))
    places = (
        SuspectLine(file="calculator.py", line=2, score=1.0, reason="run by\n1 failing test"),
        SuspectLine(file="../../etc/passwd", line=1, score=0.9),
    )
    found, _ = await proposed(
        TrialStarted(candidates=9, suspect_lines=places), off, miss, TrialDone(reason="time")
    )
    note = found[-1]
    assert isinstance(note, RungNote)
    (near,) = note.near
    assert (near.path, near.line, near.description) == ("calculator.py", 2, "sides exchanged")
    assert near.mended == (TEST,)
    assert near.diff.endswith(
        "@@ -1,2 +1,2 @@\n def f(a, b):\n-    return a - b\n+    return b - a\n"
    )
    assert near.changes[0].content == OLD.replace("a - b", "b - a")
    assert [(suspect.file, suspect.reason) for suspect in note.suspects] == [
        ("calculator.py", "run by 1 failing test")
    ]


@pytest.mark.anyio
async def test_where_it_looked_is_told_too_when_it_found_something() -> None:
    places = (SuspectLine(file="calculator.py", line=2, score=1.0, reason="run by 1 failing test"),)
    found, _ = await proposed(
        TrialStarted(candidates=9, suspect_lines=places), a_survivor(), TrialDone(reason="enough")
    )
    note, candidate = found
    assert isinstance(note, RungNote)
    assert [suspect.line for suspect in note.suspects] == [2]
    assert isinstance(candidate, Candidate)


@pytest.mark.anyio
async def test_small_edits_that_behave_like_a_fix_are_kept_with_it() -> None:
    alike = a_survivor("b + a", template="swap_operands", cost=1.3, behaviour="")
    doubted = a_survivor("5", template="change_term", cost=1.4, behaviour="", warnings=("odd",))
    other = a_survivor("b - a", template="swap_operands", cost=2.9, behaviour="")
    compared = SurvivorComparison(clusters=(0, 0, 0, 1), inputs=9)
    first, second, *_ = (
        await proposed(
            a_survivor(behaviour=""), alike, doubted, other, compared, TrialDone(reason="enough")
        )
    )[0]
    assert isinstance(first, Candidate)
    assert isinstance(second, Candidate)
    (kept,) = first.alike
    assert kept.template == "swap_operands"
    assert "+    return b + a" in kept.diff
    assert second.alike == ()
