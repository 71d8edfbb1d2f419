"""TEST: run the failing command in the workspace and read the failures."""

from bot.mission.failures.reports import bounded
from bot.ports import Workspace
from sandbox.types import Frozen, TestReport, WorkspaceFacts


class Reproduction(Frozen):
    """The first run and the files it ran on."""

    facts: WorkspaceFacts
    report: TestReport


async def reproduce_failures(workspace: Workspace, *, maxfail: int | None = None) -> Reproduction:
    """Run the command up to a number of failures, then completely if that stopped it.

    The short run shows a failure early, even if a later test never ends. Only a complete run lists
    every test that passed before and must not fail afterwards.

    Args:
        workspace: The failing commit, without edits.
        maxfail: Failures after which the first run stops, if tests have names; 0 or None: no limit.
    """
    facts = await workspace.facts()
    limit = maxfail or None
    report = await workspace.run_tests(maxfail=limit)
    if limit is not None and report.knows_tests and report.failure_count >= limit:
        whole = await workspace.run_tests()
        # A complete run that is cut off, or green by chance, shows less than the short one.
        report = whole if whole.failing else report
    return Reproduction(facts=facts, report=bounded(report))
