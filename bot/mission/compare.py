"""Before against after: what is gone, what is new, what is missing, and whether the runs agree. Pure."""

from collections.abc import Sequence

from bot.domain.patch import TestChange, VerifiedRun
from bot.mission.reports import failing_of, outcomes_of
from bot.mission.signatures import stopped_early
from sandbox.types import TestReport, TestStatus, stands_for

_ROWS = 200
"""At most this many tests in the table."""


def gone(before: TestReport, after: TestReport) -> frozenset[str]:
    """Failures of the red run that a run shows as gone: passed, or for a linter no longer found.

    Args:
        before: The red run.
        after: Another run.
    """
    was, now = failing_of(outcomes_of(before)), outcomes_of(after)
    # The commands of a line run up to the first that is not green.
    past = after.success or after.steps > before.steps
    if before.runner == "diagnostics":
        return was - failing_of(now) if after.runner == "diagnostics" or past else frozenset()
    if not before.knows_tests:
        return was if past else frozenset()
    passed = {name for name, status in now.items() if status is TestStatus.PASS}
    # A file or folder that could not be collected is a failure without `::`; it is gone when tests of it pass.
    mended = {n for n in was if "::" not in n and n not in now and any(stands_for(n, p) for p in passed)}
    return (was & passed) | mended


def newly_failing(before: TestReport, runs: Sequence[VerifiedRun]) -> tuple[str, ...]:
    """Tests that fail in some run and did not fail before.

    A test the red run never reached (it stopped early, its file could not be collected, or a later command of the line
    runs it) is not blamed on the change.

    Args:
        before: The red run.
        runs: Every run with the change.
    """
    was = outcomes_of(before)
    uncollected = [name for name in failing_of(was) if "::" not in name]
    failing = {name for run in runs for name in _blamed(before, was, run.report)} - failing_of(was)
    if before.knows_tests:
        unknown = {n for n in failing if n not in was}
        failing -= (
            unknown if stopped_early(before) else {n for n in unknown if any(stands_for(u, n) for u in uncollected)}
        )
    return tuple(sorted(failing))


def _blamed(before: TestReport, was: dict[str, TestStatus], after: TestReport) -> frozenset[str]:
    """Return what fails in a run and could have been seen in the red one."""
    failing = failing_of(outcomes_of(after))
    return failing & was.keys() if after.steps > before.steps else failing


def missing_tests(before: TestReport, whole: Sequence[TestReport]) -> tuple[str, ...]:
    """Tests that were collected before and are not in every run of the whole command now.

    Args:
        before: The red run.
        whole: Runs of the whole command with the change.
    """
    # Only a red run may have stopped early: what a green one prints about itself proves nothing.
    complete = [report for report in whole if report.success or not stopped_early(report)]
    if not before.knows_tests:
        return ()
    names = [name for name in before.outcomes if "::" in name]
    return tuple(sorted(name for name in names if any(name not in report.outcomes for report in complete)))


def always_passing(runs: Sequence[VerifiedRun]) -> frozenset[str]:
    """Tests that passed in every run that ran them.

    Args:
        runs: Every run with the change.
    """
    seen = {name for run in runs for name in run.report.outcomes}
    return frozenset(
        name
        for name in seen
        if all(r.report.outcomes[name] is TestStatus.PASS for r in runs if name in r.report.outcomes)
    )


def disagree(runs: Sequence[VerifiedRun]) -> bool:
    """Whether two runs say different things about one test, or about the whole command.

    Args:
        runs: Every run with the change.
    """
    verdicts: dict[str, set[bool]] = {}
    for run in runs:
        for name, status in run.report.outcomes.items():
            verdicts.setdefault(name, set()).add(status in {TestStatus.FAIL, TestStatus.ERROR})
    whole = {run.report.success for run in runs if run.label.startswith("full command")}
    return len(whole) > 1 or any(len(seen) > 1 for seen in verdicts.values())


def table(was: dict[str, TestStatus], now: dict[str, TestStatus]) -> tuple[TestChange, ...]:
    """Every test that was red, and every one that changed.

    Args:
        was: Outcomes before.
        now: Outcomes with the change.
    """
    red = sorted(failing_of(was))
    changed = sorted(n for n in was.keys() | now.keys() if n not in red and was.get(n) is not now.get(n) and n in now)
    rows = [TestChange(name=name, before=was.get(name), after=now.get(name)) for name in [*red, *changed]]
    return tuple(rows[:_ROWS])
