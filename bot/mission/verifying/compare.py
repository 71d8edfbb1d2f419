"""Compare before and after: fixed, new and missing tests, and agreement of runs. Pure."""

from collections.abc import Sequence

from bot.domain.patch import TestChange, VerifiedRun
from bot.mission.failures.reports import list_failing, map_outcomes
from bot.mission.failures.signatures import stopped_early
from sandbox.types import RunVerdict, TestReport, TestStatus, stands_for

_ROWS = 200
"""Maximum number of tests in the table."""


def gone(before: TestReport, after: TestReport) -> frozenset[str]:
    """Return the failures of the red run that another run no longer shows.

    A test has passed; a linter's finding is absent.

    Args:
        before: The red run.
        after: Another run.
    """
    was, now = list_failing(map_outcomes(before)), map_outcomes(after)
    # A compound command stops at its first command that is not green.
    past = after.success or after.steps > before.steps
    if before.traits.is_findings:
        return was - list_failing(now) if after.traits.is_findings or past else frozenset()
    if not before.knows_tests:
        return was if past else frozenset()
    passed = {name for name, status in now.items() if status is TestStatus.PASS}
    # A file that could not be collected is a failure without `::`; it is gone if tests in it pass.
    mended = {
        n for n in was if "::" not in n and n not in now and any(stands_for(n, p) for p in passed)
    }
    return (was & passed) | mended


def fails_otherwise(before: TestReport, alone: TestReport) -> bool:
    """Return True if every test that still fails raises another class of error than before.

    Either the change made them fail in another way, or they need tests that ran before them. A
    report has the errors of the first failures only; an unknown one counts as another.

    Args:
        before: The red run of the whole command.
        alone: A run of the failing tests only.
    """
    was = {failure.name: failure.error for failure in before.failures}
    now = {failure.name: failure.error for failure in alone.failures}
    return bool(now) and all(was.get(name) != error for name, error in now.items())


def newly_failing(before: TestReport, runs: Sequence[VerifiedRun]) -> tuple[str, ...]:
    """Return the tests that fail in some run and did not fail before.

    A test that the red run never reached is not blamed on the change. The red run may have stopped
    early, failed to collect the file, or not have reached a later command.

    Args:
        before: The red run.
        runs: All runs with the change.
    """
    was = map_outcomes(before)
    uncollected = [name for name in list_failing(was) if "::" not in name]
    failing = {name for run in runs for name in _blamed(before, was, run.report)} - list_failing(
        was
    )
    if before.knows_tests:
        unknown = {n for n in failing if n not in was}
        failing -= (
            unknown
            if stopped_early(before)
            else {n for n in unknown if any(stands_for(u, n) for u in uncollected)}
        )
    return tuple(sorted(failing))


def _blamed(before: TestReport, was: dict[str, TestStatus], after: TestReport) -> frozenset[str]:
    """Return the failures of a run that the red run could have shown."""
    failing = list_failing(map_outcomes(after))
    # After a repaired command, a later one runs for the first time: its failures are not new.
    return failing & was.keys() if after.steps > before.steps else failing


def missing_tests(before: TestReport, whole: Sequence[TestReport]) -> tuple[str, ...]:
    """Return the tests that were collected before and are not in every run of the whole command.

    Args:
        before: The red run.
        whole: Runs of the whole command with the change.
    """
    # Only a red run may have stopped early: the output of a green run proves nothing about that.
    complete = [report for report in whole if report.success or not stopped_early(report)]
    if not before.knows_tests:
        return ()
    names = [name for name in before.outcomes if "::" in name]
    return tuple(
        sorted(name for name in names if any(name not in report.outcomes for report in complete))
    )


def find_renamed(before: TestReport, again: TestReport) -> frozenset[str]:
    """Return the tests that passed before and have no such name in another run of the same code.

    Args:
        before: The red run.
        again: Another run of the whole command on the same commit.
    """
    if again.verdict not in {RunVerdict.PASS, RunVerdict.FAIL} or stopped_early(again):
        return frozenset()
    return frozenset(before.passing - again.outcomes.keys())


def always_passing(runs: Sequence[VerifiedRun]) -> frozenset[str]:
    """Return the tests that passed in every run that included them.

    Args:
        runs: All runs with the change.
    """
    seen = {name for run in runs for name in run.report.outcomes}
    return frozenset(
        name
        for name in seen
        if all(
            r.report.outcomes[name] is TestStatus.PASS for r in runs if name in r.report.outcomes
        )
    )


def disagree(runs: Sequence[VerifiedRun]) -> bool:
    """Return True if two runs differ on one test, or on the whole command.

    Args:
        runs: All runs with the change.
    """
    verdicts: dict[str, set[bool]] = {}
    for run in runs:
        for name, status in run.report.outcomes.items():
            verdicts.setdefault(name, set()).add(status in {TestStatus.FAIL, TestStatus.ERROR})
    whole = {run.report.success for run in runs if run.label.startswith("full command")}
    return len(whole) > 1 or any(len(seen) > 1 for seen in verdicts.values())


def table(was: dict[str, TestStatus], now: dict[str, TestStatus]) -> tuple[TestChange, ...]:
    """Return every test that was red, and every one that changed.

    Args:
        was: Results before the change.
        now: Results with the change.
    """
    red = sorted(list_failing(was))
    # An earlier command of the line counts as one passed test: that is no change.
    known = {
        n for n, status in now.items() if n in was or "::" in n or status is not TestStatus.PASS
    }
    changed = sorted(n for n in known if n not in red and was.get(n) is not now[n])
    rows = [
        TestChange(name=name, before=was.get(name), after=now.get(name))
        for name in [*red, *changed]
    ]
    return tuple(rows[:_ROWS])
