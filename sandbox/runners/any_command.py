"""Any other command: its exit status decides, and what it printed tells where, as far as it can be read."""

from sandbox.runners.base import (
    NOT_EXECUTABLE,
    NOT_FOUND,
    GuestPlaces,
    Invocation,
    Reading,
    RunRequest,
    shell_invocation,
)
from sandbox.runners.findings import Checkout, as_results
from sandbox.runners.matchers import EVERY, plain_lines, read_findings
from sandbox.runners.printed import read_test_lines
from sandbox.runners.printed.blocks import python_frames, raised
from sandbox.runners.printed.error_line import best_error
from sandbox.types import CommandResult, TestResult, TestStatus

READ_CHARACTERS = 200_000
NAME_CHARACTERS = 200
LAST_CHARACTERS = 4000


class AnyCommand:
    """Recognises everything; has one result, named by the command, unless the output names failing tests or places."""

    @property
    def name(self) -> str:
        """`command`."""
        return "command"

    def recognises(self, _command: str, /) -> bool:
        """Whether this runner reads the command."""
        return True

    def prepare(self, request: RunRequest, places: GuestPlaces, /) -> Invocation:
        """What to start."""
        return shell_invocation(request, places)

    def read(self, request: RunRequest, invocation: Invocation, result: CommandResult, /) -> Reading:
        """What the run left."""
        name = request.command.strip()[:NAME_CHARACTERS]
        missing = why_not_run(result)
        if missing:
            return Reading(inconclusive=missing, weak=True)
        if result.ok:
            return Reading(results=(TestResult(name=name, status=TestStatus.PASS),), weak=True)
        place = Checkout(root=invocation.checkout, folder=invocation.folder)
        return Reading(results=printed_failures(name, printed(result), place, ending_of(result)), weak=True)


def printed_failures(name: str, text: str, checkout: Checkout, ending: str) -> tuple[TestResult, ...]:
    """What a failing command's output names: tests, else places, else the command itself with the best line."""
    lines = plain_lines(text)
    named = read_test_lines(lines, checkout)
    return named or as_results(read_findings(EVERY, text), checkout) or (_one_result(name, lines, checkout, ending),)


def printed(result: CommandResult) -> str:
    """Both streams, bounded for reading."""
    text = result.stdout + ("\n" if result.stdout and result.stderr else "") + result.stderr
    return text if len(text) <= READ_CHARACTERS else text[: READ_CHARACTERS // 2] + "\n" + text[-READ_CHARACTERS // 2 :]


def why_not_run(result: CommandResult) -> str:
    """Why the command itself could not be started; empty when it could."""
    if result.exit_code == NOT_FOUND:
        return "the command was not found (exit status 127)"
    if result.exit_code == NOT_EXECUTABLE:
        return "the command cannot be executed (exit status 126)"
    return ""


def _one_result(name: str, lines: list[str], checkout: Checkout, ending: str) -> TestResult:
    frames = python_frames(lines, checkout)
    error, message = raised(lines)
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


def ending_of(result: CommandResult) -> str:
    """How a command that is not green ended."""
    if result.exit_code is None:
        return f"killed by signal {result.signal}"
    return f"exit status {result.exit_code}"
