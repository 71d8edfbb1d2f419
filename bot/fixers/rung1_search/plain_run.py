"""Once more as anybody would run it: files written, a test process of its own; what that refutes is not shown."""

from bot.fixers.rung1_search.attempt import Attempt, Shown
from bot.ports import Workspace
from sandbox.types import RunVerdict, TestReport, stands_for

MOST_RUNS = 5
"""After so many that a plain run refutes, nothing that this search found is believed."""


async def keep_what_holds(workspace: Workspace, found: Attempt) -> None:
    """Run the command with the first fix written; drop it when it fails, and go on with the next ones.

    A mission does not need this: its verdict runs every candidate in fresh sandboxes. Whoever shows what a search found
    does.

    Args:
        workspace: As the search left it; it is put back.
        found: Its `shown`, `plain_run` and `refuted` are changed.
    """
    for shown in found.shown[:MOST_RUNS]:
        report = await _run_with(workspace, shown, found.request.command)
        if _holds(report, found):
            found.plain_run = report.summary
            return
        found.refuted += 1
        found.shown = found.shown[1:]
    found.shown = ()


async def _run_with(workspace: Workspace, shown: Shown, command: str) -> TestReport:
    await workspace.apply_changes(shown.changes)
    try:
        return await workspace.run_tests(command)
    finally:
        await workspace.revert()


def _holds(report: TestReport, found: Attempt) -> bool:
    """Whether all that has to pass did; tests that failed before, and nobody asked for, may go on failing."""
    if report.verdict is RunVerdict.PASS:
        return True
    wanted = {*found.request.failing, *found.request.passing, *found.request.held_out}
    lost = {test for test in wanted if any(stands_for(name, test) for name in report.failing)}
    return report.verdict is RunVerdict.FAIL and bool(report.failing) and not lost
