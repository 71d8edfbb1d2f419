"""mend_findings: edits are kept only when the check finds less and nothing new; nothing is silenced; tests have a say."""

from collections.abc import Callable

import pytest

from bot.domain.patch import Candidate, FixBudget, RungNote
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.finding_reports import (
    detailed_findings,
    is_about_findings,
    is_better,
    tally,
)
from sandbox.types import RunVerdict, TestReport, TestStatus
from tests.builders import (
    a_diagnosis,
    a_lint_failure,
    a_lint_report,
    a_report,
    a_running_mission,
    facts,
)
from tests.fakes.checked_workspace import proposed
from tests.fakes.fake_workspace import FakeWorkspace, Files, green
from tests.fakes.memory_lessons import MemoryLessons

pytestmark = pytest.mark.anyio
NONE = "def f(a):\n    if a == None:\n        return 1\n    return a\n"
RULES: dict[str, tuple[str, str]] = {
    "== None": ("E711", "Comparison to `None`"),
    "except:": ("E722", "Do not use bare `except`"),
    "lenght": ("F821", "Undefined name `lenght`"),
    "BROKEN": ("X1", "whatever"),
}


def lint(files: Files) -> TestReport:
    """A linter that looks for words."""
    found = []
    for path, text in sorted(files.items()):
        for number, line in enumerate(text.split("\n"), start=1):
            for word, (rule, message) in RULES.items():
                if word in line:
                    one = a_lint_failure(
                        path,
                        rule,
                        line=number,
                        error_message=message,
                        name=f"{path}:{number}:{rule}",
                    )
                    found.append(one)
    if not found:
        return green(files, "ruff").with_(runner="diagnostics")
    return a_lint_report(*found, verdict=RunVerdict.FAIL).with_(failures=tuple(found[:10]))


def test_a_finding_is_handed_on_with_its_column() -> None:
    report = a_lint_report(
        a_lint_failure("m.py", "E711", line=3, column=7), a_lint_failure("n.py", "E711", line=3)
    )
    assert [(finding.path, finding.column) for finding in detailed_findings(report)] == [
        ("m.py", 7),
        ("n.py", 0),
    ]


Tests = Callable[[Files], TestReport]


def green_tests(files: Files) -> TestReport:
    return a_report(
        success=True,
        failed=False,
        outcomes={"t": TestStatus.PASS},
        runner="pytest",
        verdict=RunVerdict.PASS,
    )


async def mended(
    files: dict[str, str],
    *,
    check: Tests = lint,
    tests: Tests = green_tests,
    budget: FixBudget | None = None,
) -> tuple[Candidate | RungNote, FakeWorkspace]:
    workspace = FakeWorkspace(
        files,
        judge=lambda now, command: check(now) if command == "ruff check ." else tests(now),
        facts=facts(recipe=facts().recipe.with_(command="ruff check .")),
        proposer=proposed,
    )
    context = a_running_mission(test_results=lint(files))
    fixer = SearchFixer(MemoryLessons())
    found = [
        one async for one in fixer.propose(context, a_diagnosis(), workspace, budget or FixBudget())
    ]
    assert await workspace.changes() == (), "left as it was found"
    (only,) = found
    return only, workspace


def check_then_test(files: Files) -> TestReport:
    """A command line whose second step, a red test, runs if the linter is satisfied."""
    report = lint(files)
    return a_report(steps=2) if report.verdict is RunVerdict.PASS else report


def candidate(found: Candidate | RungNote) -> Candidate:
    assert isinstance(found, Candidate), found
    return found


def note(found: Candidate | RungNote) -> str:
    assert isinstance(found, RungNote), found
    return found.reason


async def test_tests_that_are_a_step_of_the_command_leave_no_doubt() -> None:
    def check(files: Files) -> TestReport:
        report = lint(files)
        return green_tests(files).with_(steps=2) if report.verdict is RunVerdict.PASS else report

    found, workspace = await mended({"a.py": NONE}, check=check)
    assert candidate(found).confident
    assert workspace.commands == ["ruff check ."]


async def test_a_later_step_of_the_command_is_not_repaired_here() -> None:
    found, _ = await mended({"a.py": NONE}, check=check_then_test)
    assert "and none is left" in candidate(found).explanation


async def test_an_edit_with_which_the_tests_of_a_later_step_pass_is_looked_for() -> None:
    def check(files: Files) -> TestReport:
        report = lint(files)
        if report.verdict is not RunVerdict.PASS:
            return report
        is_right = "x = length_of" in files["a.py"]
        return (green_tests(files) if is_right else a_report()).with_(steps=2)

    text = "lengths = 1\nlength_of = 2\nx = lenght\n"
    found, _ = await mended({"a.py": text}, check=check)
    assert candidate(found).changes[0].content == text.replace("lenght\n", "length_of\n")


async def test_an_edit_that_leaves_tests_red_is_forgotten_after_another_one_is_kept() -> None:
    files = {"a.py": NONE, "b.py": f"# longer\n{NONE}"}
    found, _ = await mended(files, check=check_then_test)
    changed = {change.path: change.content for change in candidate(found).changes}
    assert changed == {path: text.replace("==", "is") for path, text in files.items()}


async def test_an_edit_that_leaves_tests_red_is_kept_when_no_more_may_be_tried() -> None:
    text = "lengths = 1\nlength_of = 2\nx = lenght\n"
    found, workspace = await mended(
        {"a.py": text}, check=check_then_test, budget=FixBudget(max_candidates=1)
    )
    assert candidate(found).changes
    assert workspace.commands.count("ruff check .") == 1


async def test_an_edit_with_which_the_check_is_green_becomes_a_candidate() -> None:
    found, workspace = await mended({"a.py": NONE})
    only = candidate(found)
    assert only.changes[0].content == NONE.replace("== None", "is None")
    assert only.template == "comparisons"
    assert only.candidates_tried == 1
    assert only.warnings == ("no tests were run: only the check validated this",)
    assert not only.confident
    assert "fixes 1 finding, and none is left" in only.explanation
    assert len(workspace.asked) == 1


async def test_findings_in_several_files_are_mended_in_one_run() -> None:
    files = {
        "a.py": NONE,
        "b.py": "try:\n    f()\nexcept:\n    g()\n",
        "c.py": "length = 1\nx = lenght\n",
    }
    only = candidate((await mended(files))[0])
    assert [change.path for change in only.changes] == ["a.py", "b.py", "c.py"]
    assert only.candidates_tried == 1


async def test_more_findings_than_are_told_in_full_are_mended_round_after_round() -> None:
    files = {f"m{number:02}.py": NONE for number in range(14)}
    only = candidate((await mended(files))[0])
    assert len(only.changes) == 14
    assert only.candidates_tried <= 4


async def test_an_edit_that_came_along_and_mends_nothing_is_left_out() -> None:
    """The first edit for `lenght` only moves the finding."""
    files = {"a.py": NONE, "b.py": "lenghts = 1\nx = lenght  # lenght\n"}
    only = candidate((await mended(files))[0])
    assert [change.path for change in only.changes] == ["a.py"]
    assert only.warnings[0].startswith("fixes 1 of")


async def test_what_cannot_be_mended_is_said_and_the_rest_is_kept() -> None:
    only = candidate((await mended({"a.py": NONE + "# BROKEN\n"}))[0])
    assert "fixes 1 of 2 findings" in only.warnings
    assert only.score < 0.6


async def test_nothing_known_is_said() -> None:
    assert note((await mended({"a.py": "# BROKEN\n"}))[0]) == "no edit is known for these findings"


async def test_findings_of_protected_files_are_left_alone() -> None:
    found, workspace = await mended({"tests/test_a.py": NONE, "conftest.py": NONE, "a.txt": NONE})
    assert "no file" in note(found)
    assert workspace.asked == []


async def test_an_edit_that_breaks_tests_is_not_proposed() -> None:
    def tests(files: Files) -> TestReport:
        failing = {
            "t": TestStatus.FAIL if "is None" in files["a.py"] else TestStatus.PASS,
            "u": TestStatus.FAIL,
        }
        return a_report(outcomes=failing, runner="pytest", verdict=RunVerdict.FAIL)

    found, _ = await mended({"a.py": NONE, "test_a.py": "x = 1\n"}, tests=tests)
    assert note(found) == "the edits that satisfy the check break tests"


async def test_tests_that_fail_anyway_are_no_reason_against_it() -> None:
    def tests(files: Files) -> TestReport:
        return a_report(outcomes={"u": TestStatus.FAIL}, runner="pytest", verdict=RunVerdict.FAIL)

    only = candidate((await mended({"a.py": NONE, "test_a.py": "x = 1\n"}, tests=tests))[0])
    assert only.warnings == ("red with and without the edits: 1 test",)
    assert not only.confident


async def test_green_tests_leave_no_doubt() -> None:
    only = candidate((await mended({"a.py": NONE, "test_a.py": "x = 1\n"}))[0])
    assert only.warnings == ()
    assert (only.confident, only.ranked) == (True, False), "its score is set by hand"


async def test_tests_that_cannot_run_are_said() -> None:
    def tests(files: Files) -> TestReport:
        return a_report(outcomes={}, runner="command", verdict=RunVerdict.NO_VERDICT)

    only = candidate((await mended({"a.py": NONE, "test_a.py": "x = 1\n"}, tests=tests))[0])
    assert "could not be run" in only.warnings[0]


async def test_the_budget_of_candidates_is_kept() -> None:
    files = {
        f"m{number:02}.py": "x = lenght\nlengths = 1\nheight = 2\nlength_of = 1\n"
        for number in range(3)
    }
    found, workspace = await mended(files, budget=FixBudget(max_candidates=2))
    assert len([c for c in workspace.commands if c == "ruff check ."]) <= 2
    assert isinstance(found, Candidate | RungNote)


def test_a_check_that_is_red_at_an_earlier_step_is_no_progress() -> None:
    one, two = a_lint_failure("a.py", "X"), a_lint_failure("a.py", "Y")
    # Both steps are the same tool, so that their findings look alike.
    assert not is_better(a_lint_report(one, two).with_(steps=2), a_lint_report(one))


def test_lines_that_move_are_no_new_findings() -> None:
    before = a_lint_report(
        a_lint_failure("a.py", "X", name="a.py:3:X"), a_lint_failure("a.py", "Y", name="a.py:9:Y")
    )
    after = a_lint_report(a_lint_failure("a.py", "Y", name="a.py:12:Y"), verdict=RunVerdict.FAIL)
    assert is_better(before, after)
    assert tally(before) == {("a.py", "X"): 1, ("a.py", "Y"): 1}


@pytest.mark.parametrize("verdict", [RunVerdict.PASS, RunVerdict.FAIL])
def test_a_check_that_lets_a_later_step_run_is_repaired(verdict: RunVerdict) -> None:
    before = a_lint_report(a_lint_failure("a.py", "X"))
    assert is_better(before, a_report(verdict=verdict).with_(steps=before.steps + 1))


@pytest.mark.parametrize(
    "after",
    [
        a_lint_report(a_lint_failure("a.py", "Z"), verdict=RunVerdict.FAIL),
        a_lint_report(a_lint_failure("a.py", "X"), verdict=RunVerdict.FAIL),
        a_lint_report(
            a_lint_failure("a.py", "X"), a_lint_failure("b.py", "X"), verdict=RunVerdict.FAIL
        ),
        a_lint_report(verdict=RunVerdict.NO_VERDICT).with_(outcomes={}),
        a_lint_report(verdict=RunVerdict.TIMEOUT).with_(outcomes={}),
        a_report(runner="command", verdict=RunVerdict.PASS, outcomes={}),
    ],
)
def test_a_new_finding_the_same_ones_or_no_verdict_is_no_progress(after: TestReport) -> None:
    assert not is_better(a_lint_report(a_lint_failure("a.py", "X")), after)


def test_only_reports_of_checkers_are_about_findings() -> None:
    assert is_about_findings(a_lint_report())
    assert not is_about_findings(a_report())
    assert not is_about_findings(a_lint_report().with_(outcomes={}))
