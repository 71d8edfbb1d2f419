"""TEST: run the failing command in the workspace and read the failures."""

from bot.mission.reports import bounded
from bot.ports import Workspace
from sandbox.types import Frozen, RunVerdict, TestReport, WorkspaceFacts


class Reproduction(Frozen):
    """The first run, and what it ran on."""

    facts: WorkspaceFacts
    report: TestReport


async def reproduce_failures(workspace: Workspace, *, maxfail: int | None = None) -> Reproduction:
    """Run the whole command once.

    Args:
        workspace: On the failing commit, untouched.
        maxfail: Used for a second run only when the first one did not end in time.
    """
    facts = await workspace.facts()
    report = await workspace.run_tests()
    if report.verdict is RunVerdict.TIMEOUT and not report.failing and report.knows_tests:
        report = await workspace.run_tests(maxfail=maxfail)
    return Reproduction(facts=facts, report=bounded(report))
