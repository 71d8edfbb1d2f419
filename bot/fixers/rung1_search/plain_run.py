"""Validate search results with a plain run of the command in a fresh test process."""

from bot.fixers.rung1_search.attempt import RankedFix, SearchResult
from bot.ports import Workspace
from sandbox.types import RunVerdict, TestReport, stands_for

MOST_RUNS = 5
"""After this many refuted fixes, all results of the search are dropped."""


async def drop_refuted(workspace: Workspace, found: SearchResult) -> None:
    """Run the command with the best fix applied; drop it if it fails and try the next.

    A mission does not need this, because its verification runs every candidate in fresh sandboxes.
    The `repair` command and the benchmarks do.

    Args:
        workspace: The workspace after the search; restored.
        found: Its `shown`, `plain_run` and `refuted` are updated.
    """
    for shown in found.shown[:MOST_RUNS]:
        report = await _run_with(workspace, shown, found.request.command)
        if _is_confirmed(report, found):
            found.plain_run = report.summary
            return
        found.refuted += 1
        found.shown = found.shown[1:]
    found.shown = ()


async def _run_with(workspace: Workspace, shown: RankedFix, command: str) -> TestReport:
    await workspace.apply_changes(shown.changes)
    try:
        return await workspace.run_tests(command)
    finally:
        await workspace.revert()


def _is_confirmed(report: TestReport, found: SearchResult) -> bool:
    """Return True if all required tests passed. Other tests that failed before may still fail."""
    if report.verdict is RunVerdict.PASS:
        return True
    wanted = {*found.request.failing, *found.request.passing, *found.request.held_out}
    lost = {test for test in wanted if any(stands_for(name, test) for name in report.failing)}
    return report.verdict is RunVerdict.FAIL and bool(report.failing) and not lost
