"""What a repaired command uncovered: the red run of a later command of the same line. Pure."""

from bot.domain.mission import MissionContext
from sandbox.types import FileChange, Frozen, TestReport


class Uncovered(Frozen):
    """The run that got past the command that was red at first."""

    report: TestReport
    changes: tuple[FileChange, ...]
    """What it ran with, on top of the failing commit."""


def uncovered(context: MissionContext) -> Uncovered | None:
    """Return what the partial fix so far uncovered; None when it got no further than the red run.

    Args:
        context: The mission so far.
    """
    before = context.test_results
    for iteration in reversed(context.iterations):
        candidate, found = iteration.candidate, iteration.verification
        if candidate is None or found is None or not found.partial:
            continue
        report = next((run.report for run in reversed(found.runs) if run.label == "full command"), None)
        if before is None or report is None or report.steps <= before.steps:
            return None
        return Uncovered(report=report, changes=candidate.changes)
    return None
