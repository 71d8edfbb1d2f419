"""The runner for any other command: the exit status decides, the output supplies places."""

from sandbox.runners.base import (
    NOT_EXECUTABLE,
    NOT_FOUND,
    GuestPlaces,
    Invocation,
    RunnerReading,
    RunRequest,
    shell_invocation,
)
from sandbox.runners.findings import CheckoutPaths, as_results
from sandbox.runners.matchers import EVERY, plain_lines, read_findings
from sandbox.runners.printed import read_test_lines
from sandbox.runners.printed.blocks import last_exception, python_frames
from sandbox.runners.printed.error_line import best_error
from sandbox.types import CommandResult, TestResult, TestStatus

READ_CHARACTERS = 200_000
NAME_CHARACTERS = 200
LAST_CHARACTERS = 4000
_TOO_LONG = "Argument list too long"
"""Linux's word for it (E2BIG). A whole command line is one word of the shell that runs it."""


class AnyCommand:
    """Recognises every command.

    Its only result is the command, unless the output names failing tests or places.
    """

    @property
    def name(self) -> str:
        """Return `command`."""
        return "command"

    def recognises(self, _command: str, /) -> bool:
        """Return True: every command is recognised."""
        return True

    def prepare(self, request: RunRequest, places: GuestPlaces, /) -> Invocation:
        """Return what to start."""
        return shell_invocation(request, places)

    def read(
        self, request: RunRequest, invocation: Invocation, result: CommandResult, /
    ) -> RunnerReading:
        """Read the result of a run."""
        name = request.command.strip()[:NAME_CHARACTERS]
        missing = find_start_error(result)
        if missing:
            return RunnerReading(inconclusive=missing, weak=True)
        if result.ok:
            return RunnerReading(
                results=(TestResult(name=name, status=TestStatus.PASS),), weak=True
            )
        place = CheckoutPaths(root=invocation.checkout, folder=invocation.folder)
        return RunnerReading(
            results=printed_failures(name, combined_output(result), place, describe_exit(result)),
            weak=True,
        )


def printed_failures(
    name: str, text: str, checkout: CheckoutPaths, ending: str
) -> tuple[TestResult, ...]:
    """Return the failures in the output: tests, else places, else the command itself."""
    lines = plain_lines(text)
    named = read_test_lines(lines, checkout)
    return (
        named
        or as_results(read_findings(EVERY, text), checkout)
        or (_one_result(name, lines, checkout, ending),)
    )


def combined_output(result: CommandResult) -> str:
    """Return both output streams, bounded for parsing."""
    text = result.stdout + ("\n" if result.stdout and result.stderr else "") + result.stderr
    return (
        text
        if len(text) <= READ_CHARACTERS
        else text[: READ_CHARACTERS // 2] + "\n" + text[-READ_CHARACTERS // 2 :]
    )


def find_start_error(result: CommandResult) -> str:
    """Return why the command could not be started; empty if it could."""
    if result.exit_code == NOT_FOUND:
        return "the command was not found (exit status 127)"
    if result.exit_code == NOT_EXECUTABLE and _TOO_LONG in result.stderr:
        return "a word of the command is longer than the 131,071 bytes that Linux accepts"
    if result.exit_code == NOT_EXECUTABLE:
        return "the command cannot be executed (exit status 126)"
    return ""


def _one_result(name: str, lines: list[str], checkout: CheckoutPaths, ending: str) -> TestResult:
    frames = python_frames(lines, checkout)
    error, message = last_exception(lines)
    file, line = frames[-1][:2] if frames else (None, None)
    return TestResult(
        name=name,
        status=TestStatus.FAIL,
        output="\n".join(lines)[-LAST_CHARACTERS:],
        error_message=message or best_error(lines) or ending,
        file=file,
        line=line,
        error=error or None,
        frames=frames,
    )


def describe_exit(result: CommandResult) -> str:
    """Describe the exit of a command that is not green."""
    if result.exit_code is None:
        return f"killed by signal {result.signal}"
    return f"exit status {result.exit_code}"
