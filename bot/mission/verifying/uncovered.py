"""Failures that a repaired command uncovers: the red run of a later command of the same line.

Pure.
"""

from bot.domain.mission import MissionContext
from sandbox.types import FileChange, Frozen, TestReport


class Uncovered(Frozen):
    """The run that got past the first red command."""

    report: TestReport
    changes: tuple[FileChange, ...]
    """The changes it ran with, on top of the failing commit."""


def uncovered(context: MissionContext) -> Uncovered | None:
    """Return the failures that the partial fix uncovers; None if it gets no further.

    Args:
        context: The mission so far.
    """
    before = context.test_results
    for iteration in reversed(context.iterations):
        candidate, found = iteration.candidate, iteration.verification
        if candidate is None or found is None or not found.partial:
            continue
        report = next(
            (run.report for run in reversed(found.runs) if run.label == "full command"), None
        )
        if before is None or report is None or report.steps <= before.steps:
            return None
        return Uncovered(report=report, changes=candidate.changes)
    return None
