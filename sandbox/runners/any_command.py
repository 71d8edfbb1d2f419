"""Any other command: its exit status decides, and what it printed tells where, as far as it can be read."""

import re

from sandbox.runners.base import (
    NOT_EXECUTABLE,
    NOT_FOUND,
    GuestPlaces,
    Invocation,
    Reading,
    RunRequest,
    shell_invocation,
)
from sandbox.types import CommandResult, TestResult, TestStatus

READ_CHARACTERS = 200_000
NAME_CHARACTERS = 200
_FRAME = re.compile(r'^ {2,40}File "([^"\n]{1,400})", line (\d{1,7})(?:, in ([^\n]{1,200}))?$', re.MULTILINE)
_RAISED = re.compile(
    r"^([A-Za-z_][\w.]{0,100}(?:Error|Exception|Exit|Interrupt|Warning|Failure)): ?(.{0,2000})$", re.MULTILINE
)
_PLACE = re.compile(
    r"^(?:\./)?([A-Za-z0-9_][\w./-]{0,300}\.\w{1,8}):(\d{1,7})(?::\d{1,7})?:? ?(.{0,500})$", re.MULTILINE
)
_PYTEST_LINE = re.compile(r"^(FAILED|ERROR) ([^\s:]{1,300}(?:::[^\n]{1,300}?)?)(?: - (.{0,1000}))?$", re.MULTILINE)


class AnyCommand:
    """Recognises everything; has one result, named by the command, unless the output names failing tests."""

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

    def read(self, request: RunRequest, _invocation: Invocation, result: CommandResult, /) -> Reading:
        """What the run left."""
        name = request.command.strip()[:NAME_CHARACTERS]
        missing = why_not_run(result)
        if missing:
            return Reading(inconclusive=missing, weak=True)
        if result.ok:
            return Reading(results=(TestResult(name=name, status=TestStatus.PASS),), weak=True)
        text = printed(result)
        named = _named_tests(text)
        return Reading(results=named or (_one_result(name, text, result),), weak=True)


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


def _named_tests(text: str) -> tuple[TestResult, ...]:
    """What pytest's short summary names."""
    found = {}
    for kind, name, message in _PYTEST_LINE.findall(text):
        found[name] = TestResult(
            name=name,
            status=TestStatus.FAIL if kind == "FAILED" else TestStatus.ERROR,
            error_message=message or None,
            error=message.split(":", 1)[0] if ":" in message else None,
            file=name.split("::", 1)[0],
        )
    return tuple(found.values())


def _one_result(name: str, text: str, result: CommandResult) -> TestResult:
    frames = _frames(text)
    raised = _RAISED.findall(text)
    place = next(iter(_PLACE.findall(text)), None)
    file, line = (frames[-1][0], frames[-1][1]) if frames else (place[0], int(place[1])) if place else (None, None)
    message = f"{raised[-1][0]}: {raised[-1][1]}" if raised else place[2] if place else ""
    ended = f"exit status {result.exit_code}" if result.exit_code is not None else f"killed by signal {result.signal}"
    return TestResult(
        name=name,
        status=TestStatus.FAIL,
        output=text[-4000:],
        error_message=message.strip() or ended,
        file=file,
        line=line,
        error=raised[-1][0].rsplit(".", 1)[-1] if raised else None,
        frames=frames,
    )


def _frames(text: str) -> tuple[tuple[str, int, str], ...]:
    """Frames of Python tracebacks that seem to lie in the checkout: relative, or below the work tree."""
    found = []
    for path, line, function in _FRAME.findall(text):
        relative = re.sub(r"^/work/repo/", "", path.removeprefix("./"))
        if not relative.startswith(("/", "<")):
            found.append((relative, int(line), function or "<module>"))
    return tuple(found[-40:])
