"""What a run with a change says, beside the red run; and the red run that a search goes on from."""

import pytest

from bot.fixers.rung1_search.continued_search import combine_changes, red_run, update_suspects
from bot.fixers.rung1_search.trial_runs import ResolvedChanges, compare_runs
from sandbox.types import (
    ChangeAction,
    FileChange,
    FileEdit,
    RedHunk,
    RunVerdict,
    SourceDiff,
    TestReport,
    TestStatus,
)
from tests.builders import a_change, a_diagnosis, a_failure, a_report, facts

A, B, C = "t.py::a", "t.py::b", "u.py::c"


def red(
    failing: tuple[str, ...] = (A, B), passing: tuple[str, ...] = (C,), **changes: object
) -> TestReport:
    outcomes = {
        **dict.fromkeys(failing, TestStatus.FAIL),
        **dict.fromkeys(passing, TestStatus.PASS),
    }
    given: dict[str, object] = {
        "outcomes": outcomes,
        "success": not failing,
        "verdict": RunVerdict.FAIL if failing else RunVerdict.PASS,
        "failures": tuple(
            a_failure(name=name, output=f"{name} is wrong", traceback=None) for name in failing
        ),
    }
    return a_report(**{**given, **changes})


@pytest.mark.parametrize(
    ("now", "mended", "still", "broke"),
    [
        (red((), (A, B, C)), (A, B), (), ()),
        (red((B,), (A, C)), (A,), (B,), ()),
        (red((C,), (A, B)), (A, B), (), (C,)),
        (red((), (A, C)), (A,), (B,), ()),
        (red((), (A, B)), (A, B), (), (C,)),
        (red(("t.py",), (C,)), (), (A, B), ()),
        (red((A, "u.py"), (B,)), (B,), (A,), (C,)),
        (red(("other.py::x",), (A, B, C)), (A, B), (), ()),
        (red((), (A, B, C), verdict=RunVerdict.TAMPERED), (), (A, B), ()),
    ],
    ids=["all", "one", "breaks one", "one is gone", "a passing one is gone", "not collected", "another file is not",
         "somebody else's", "lies"],
)  # fmt: skip
def test_what_is_mended_what_still_fails_and_what_broke(
    now: TestReport, mended: tuple[str, ...], still: tuple[str, ...], broke: tuple[str, ...]
) -> None:
    seen = compare_runs(red(), now, whole=True)
    assert (seen.mended, seen.still_failing, seen.broke) == (mended, still, broke)
    assert seen.passes == (not still and not broke)


@pytest.mark.parametrize(
    ("now", "passes"),
    [(red((), (A, B)), True), (red((B,), (A,)), False), (red((), ()), False)],
    ids=["collected and green", "collected and one fails", "gone"],
)
def test_a_file_that_could_not_be_collected_is_mended_when_its_tests_pass(
    now: TestReport, *, passes: bool
) -> None:
    assert compare_runs(red(("t.py",), ()), now, whole=True).passes is passes


def test_a_command_that_names_no_tests_is_green_or_not() -> None:
    before = red((), (), success=False, verdict=RunVerdict.FAIL)
    assert compare_runs(before, red((), ()), whole=True).passes
    assert not compare_runs(before, before, whole=True).passes


def test_the_first_words_are_those_of_a_test_that_has_to_pass() -> None:
    seen = compare_runs(red(), red(("other.py::x", B), (A, C)), whole=True)
    assert seen.output == f"{B}: AssertionError\n{B} is wrong"
    assert compare_runs(red(), red((), (A, B, C)), whole=True).output == ""
    gone = compare_runs(
        red(), red((), (C,), raw_output="interrupted", summary="1 passed"), whole=True
    )
    assert gone.output == "1 passed\ninterrupted"


def test_a_search_goes_on_from_the_tests_that_counted_before() -> None:
    now = red((B, "left_out.py::x", "u.py"), (A, "new.py::y"))
    again = red_run(red(), compare_runs(red(), now, whole=True))
    assert again.failing == {B, "u.py"}
    assert again.passing == {A}
    assert [failure.name for failure in again.failures] == [B, "u.py"]


def test_tests_that_were_not_run_are_taken_to_be_as_they_were() -> None:
    again = red_run(red(), compare_runs(red(), red((B,), (A,)), whole=False))
    assert again.outcomes == {A: TestStatus.PASS, B: TestStatus.FAIL, C: TestStatus.PASS}


def test_tests_of_a_file_that_could_not_be_collected_count() -> None:
    before = red(("t.py",), (C,))
    assert red_run(before, compare_runs(before, red((B,), (A, C)), whole=True)).failing == {B}


def test_places_in_edited_files_are_those_of_the_start() -> None:
    made = ResolvedChanges(
        edits=(FileEdit(path="a.py", mode="100644", content=b"x = 1\ny = 2\n"),),
        originals=(("a.py", b"x = 1\n"),),
    )
    hunk = RedHunk(path="a.py", line=1, lines=1, before="x = 0\n")
    red_diff = SourceDiff(files={"a.py": (1,), "b.py": (3,)}, hunks=(hunk, hunk.with_(path="b.py")))
    known, diagnosis = update_suspects(facts(red_diff=red_diff), a_diagnosis(), made)
    assert known.red_diff.files == {"a.py": (2,), "b.py": (3,)}
    assert [one.path for one in known.red_diff.hunks] == ["b.py"]
    assert diagnosis.suspects == a_diagnosis().suspects
    there = ResolvedChanges(
        edits=(FileEdit(path="calculator.py", mode="100644", content=b"x"),), originals=()
    )
    assert update_suspects(facts(), a_diagnosis(), there)[1].suspects == ()


def test_a_start_and_what_comes_on_top_are_one_change_of_each_file() -> None:
    made = ResolvedChanges(
        edits=(
            FileEdit(path="a.py", mode="100644", content=b"first\n"),
            FileEdit(path="new.py", mode="100644", content=b"new\n"),
            FileEdit(path="old.py", mode="deleted"),
        ),
        originals=(("a.py", b"a\n"), ("new.py", None), ("old.py", b"o\n")),
    )
    then = (a_change("new.py", "newer\n"), a_change("other.py", "o\n"))
    assert combine_changes(made, then) == (
        a_change("a.py", "first\n"),
        FileChange(action=ChangeAction.CREATE, path="new.py", content="newer\n"),
        FileChange(action=ChangeAction.DELETE, path="old.py"),
        a_change("other.py", "o\n"),
    )
