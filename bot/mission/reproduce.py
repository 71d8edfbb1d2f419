"""TEST: run the failing command in the workspace and read the failures."""

from bot.mission.reports import bounded
from bot.ports import Workspace
from sandbox.types import Frozen, TestReport, WorkspaceFacts


class Reproduction(Frozen):
    """The first run, and what it ran on."""

    facts: WorkspaceFacts
    report: TestReport


async def reproduce_failures(workspace: Workspace, *, maxfail: int | None = None) -> Reproduction:
    """Run the command until so many tests failed, and where it was stopped by that, once more to its end.

    The short run shows a failure soon and survives a test behind it that never ends. Only a whole run names every
    test that passed before and may not fail afterwards.

    Args:
        workspace: On the failing commit, untouched.
        maxfail: Failures after which the first run stops, where tests are known by name; 0 and None for no limit.
    """
    facts = await workspace.facts()
    limit = maxfail or None
    report = await workspace.run_tests(maxfail=limit)
    if limit is not None and report.knows_tests and report.failure_count >= limit:
        whole = await workspace.run_tests()
        # A whole run that is cut off, or green by chance, shows less than the short one.
        report = whole if whole.failing else report
    return Reproduction(facts=facts, report=bounded(report))
