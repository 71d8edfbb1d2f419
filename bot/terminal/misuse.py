"""Detect wrong use of a command on a folder: exit status 2 and advice, without a mission."""

import re
import shlex

from bot.domain.mission import MissionContext, Outcome
from bot.errors import UsageError
from bot.mission.failures.signatures import NOT_THERE
from sandbox.gate import clean
from sandbox.types import RunVerdict, TestReport

# 5 is pytest's status for an empty collection; unittest before Python 3.12 exits with 0.
_NO_TESTS = frozenset({0, 5})
"""Exit statuses of a test runner that found no tests."""
_REFUSED = 4
"""pytest's exit status for arguments it cannot use."""
_NOT_FOUND = re.compile(
    r"(?:^|: )([\w./+-]{1,100}): (?:command not found|not found)$", re.MULTILINE
)
_NAME_IT = "give the command that is red with --test"


def detect_misuse(context: MissionContext) -> UsageError | None:
    """Return the wrong use that ended a mission; None if there was something to repair.

    Args:
        context: A mission that ended, on a folder.
    """
    report = context.triage.report if context.triage else None
    if report is None or context.outcome not in {Outcome.NOT_REPRODUCED, Outcome.ENV_UNBUILDABLE}:
        return None
    return detect_misuse_in_run(report, runs=context.triage.runs if context.triage else 1)


def detect_misuse_in_run(report: TestReport, *, runs: int = 1) -> UsageError | None:
    """Return the wrong use that a command's first run shows; None if it shows a failure.

    Args:
        report: The first run.
        runs: Number of runs of the command in all.
    """
    command = f"`{clean(report.target)}`"
    if report.verdict is RunVerdict.PASS:
        often = f"in {runs} of {runs} runs" if runs > 1 else f"({clean(report.summary)})"
        return UsageError(f"nothing is red: {command} passes here {often}", _NAME_IT)
    if report.failing:
        return None
    if report.exit_code in NOT_THERE:
        advice = (
            "correct the command, or have `setup` in .github/metaagent.yml install what it needs"
        )
        return UsageError(f"{_program(report)} cannot be found in the sandbox", advice)
    if report.knows_tests and report.exit_code in _NO_TESTS:
        return UsageError(
            f"{command} collects no test", "name a folder or file that holds tests in --test"
        )
    if report.knows_tests and report.exit_code == _REFUSED:
        return UsageError(
            f"{command} cannot be run: {clean(report.summary)}", "correct the command in --test"
        )
    return None


def _program(report: TestReport) -> str:
    """Return the program that a shell did not find: by its message, else the first word."""
    said = _NOT_FOUND.findall(report.raw_output)
    if said:
        return f"the program `{said[-1]}`"
    try:
        words = shlex.split(report.ended_at or report.target)
    except ValueError:
        words = []
    program = next((word for word in words if "=" not in word), report.target)
    return f"the program `{clean(program)}`"
