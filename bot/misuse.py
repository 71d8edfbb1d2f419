"""Wrong use of a command on a folder: it ends with status 2 and a way out, and is no outcome of a mission."""

import asyncio
import re
import shlex
from pathlib import Path

from bot.domain.mission import MissionContext, Outcome
from bot.errors import UsageError
from bot.mission.signatures import NOT_THERE
from bot.policy.policy_file import read_folder_policy
from sandbox.errors import ImportRejected, SetupFailed
from sandbox.gate import clean
from sandbox.planning import check_folder as count_files
from sandbox.planning import read_folder
from sandbox.spec import SandboxSpec
from sandbox.types import JobHints, RunVerdict, TestReport

_NO_TESTS = frozenset({0, 5})
"""Exit statuses of a test runner that found nothing to run."""
_REFUSED = 4
"""pytest's exit status for arguments it cannot use."""
_NOT_FOUND = re.compile(r"(?:^|: )([\w./+-]{1,100}): (?:command not found|not found)$", re.MULTILINE)
_NAME_IT = "give the command that is red with --test"


def check_folder(folder: str, spec: SandboxSpec, *, command: str | None, since: str | None) -> None:
    """See that a folder can be worked on, before any sandbox is needed.

    Args:
        folder: Its path.
        spec: Limits of its size.
        command: The command that is red; None when it has to be detected.
        since: The revision it was green at.

    Raises:
        UsageError: it is not there, empty or over a limit, the revision is not there, or there is nothing to run.
    """
    root = Path(folder).resolve()
    if not root.is_dir():
        raise UsageError(f"{folder} is not a folder", "give the folder of the project")
    try:
        if not count_files(str(root), spec, since=since):
            raise UsageError(f"{folder} is empty", "give the folder of the project")
        if command is None and (policy := read_folder_policy(root)).test_command is None:
            hints = JobHints(setup=policy.setup, python=policy.python)
            asyncio.run(read_folder(str(root), spec)).recipe(hints)
    except ImportRejected as error:
        advice = error.advice
        if error.limit:
            option = f"--sandbox-{error.limit.replace('_', '-')}"
            advice = f"leave files out, or raise the limit with {option} (setting sandbox.{error.limit})"
        raise UsageError(error.message.rstrip("."), advice) from error
    except SetupFailed as error:
        raise UsageError(error.message.rstrip("."), error.advice) from error


def misuse_of(context: MissionContext) -> UsageError | None:
    """Return the wrong use behind a mission's end; None when the mission had something to do.

    Args:
        context: A mission that ended, on a folder.
    """
    report = context.triage.report if context.triage else None
    if report is None or context.outcome not in {Outcome.NOT_REPRODUCED, Outcome.ENV_UNBUILDABLE}:
        return None
    return misuse_in(report, runs=context.triage.runs if context.triage else 1)


def misuse_in(report: TestReport, *, runs: int = 1) -> UsageError | None:
    """Return the wrong use that the first run of a command shows; None when it shows something to repair.

    Args:
        report: That run.
        runs: How often the command was run in all.
    """
    command = f"`{clean(report.target)}`"
    if report.verdict is RunVerdict.PASS:
        often = f"in {runs} of {runs} runs" if runs > 1 else f"({clean(report.summary)})"
        return UsageError(f"nothing is red: {command} passes here {often}", _NAME_IT)
    if report.failing:
        return None
    if report.exit_code in NOT_THERE:
        advice = "correct the command, or have `setup` in .github/metaagent.yml install what it needs"
        return UsageError(f"{_program(report)} cannot be found in the sandbox", advice)
    if report.knows_tests and report.exit_code in _NO_TESTS:
        return UsageError(f"{command} collects no test", "name a folder or file that holds tests in --test")
    if report.knows_tests and report.exit_code == _REFUSED:
        return UsageError(f"{command} cannot be run: {clean(report.summary)}", "correct the command in --test")
    return None


def _program(report: TestReport) -> str:
    """Return the program that a shell did not find: as the shell says it, else the first word of the command."""
    said = _NOT_FOUND.findall(report.raw_output)
    if said:
        return f"the program `{said[-1]}`"
    try:
        words = shlex.split(report.ended_at or report.target)
    except ValueError:
        words = []
    program = next((word for word in words if "=" not in word), report.target)
    return f"the program `{clean(program)}`"
