"""Read what `go test` prints about failures: places, panics, stacks, and build errors."""

import re
from collections.abc import Mapping, Sequence

from sandbox.runners.findings import CheckoutPaths
from sandbox.runners.matchers import compilers, plain_lines, read_findings
from sandbox.runners.printed.blocks import Frame, is_inside, join_bounded
from sandbox.types import TestResult, TestStatus

_NOISE = re.compile(r"^\s*(?:=== (?:RUN|PAUSE|CONT|NAME)\b|--- (?:FAIL|PASS|SKIP): )")
_PLACE = re.compile(r"^\s{1,40}([\w.-]{1,200}\.go):(\d{1,7}): ?(.{0,1000})$")
_ENDING = re.compile(r"^(panic|fatal error): (.{1,1000}?)(?: \[recovered.*)?$")
_TIMED_OUT = "test timed out after"
_RACE = "WARNING: DATA RACE"
_FUNCTION = re.compile(
    r"^(?:created by )?(?:[\w.-]{1,200}/)*[\w.-]{1,200}?\.((?:[^\s/(]|\(\*){1,300})"
    r"(?:\([^()]{0,1000}\)| in goroutine \d+)?$"
)
_CLOSURE = re.compile(r"(?:\.(?:func|gowrap)?\d+)+$")
_STACK = re.compile(r"^\t(/\S{1,500}\.go):(\d{1,7})(?: \+0x[0-9a-f]+)?$")
_SECTION = re.compile(r"^# \[?([^\s\]]{1,300})\]?(?: \[([^\s\]]{1,300})\.test\])?$")
_SECTION_LINES = 50
_MESSAGE_LINES = 5
_MOST_FRAMES = 40


def describe_failure(name: str, text: str, folder: str, checkout: CheckoutPaths) -> TestResult:
    """Return the result of a failed test from what it printed.

    Args:
        name: `package::Test/sub`.
        text: Its output.
        folder: The folder of its package, relative to the checkout.
        checkout: The checkout, for absolute paths of a stack.
    """
    lines = [line for line in plain_lines(text) if not _NOISE.match(line)]
    frames = _frames(lines, checkout)
    error, message, hung = _ending(lines)
    place = next((found for line in lines if (found := _PLACE.match(line))), None)
    file, number = (f"{folder}/{place[1]}", int(place[2])) if place else (None, None)
    file = file.removeprefix("./") if file else None
    if error and frames:
        file, number = frames[-1][:2]
    if not message and place is not None:
        message = place[3].strip() or _following(lines, place)
    return TestResult(
        name=name,
        status=TestStatus.FAIL,
        error=error or None,
        error_message=message or _first(lines) or None,
        traceback=join_bounded(lines) or None,
        file=file,
        line=number,
        test=name.partition("::")[2].partition("/")[0] or None,
        frames=frames,
        hung=hung,
    )


def _ending(lines: Sequence[str]) -> tuple[str, str, bool]:
    """Return the kind of a fatal error, its message, and whether the test did not end."""
    for line in lines:
        if found := _ENDING.match(line):
            if _TIMED_OUT in found[2]:
                return "Timeout", found[2], True
            return found[1], found[2], False
    return (_RACE, "a data race was found", False) if _RACE in lines else ("", "", False)


def _following(lines: Sequence[str], place: re.Match[str]) -> str:
    """Return the text below a place without a message, as testify prints it."""
    start = lines.index(place[0]) + 1
    below = [
        " ".join(line.split()) for line in lines[start : start + _MESSAGE_LINES] if line.strip()
    ]
    return "; ".join(below)[:1000]


def _first(lines: Sequence[str]) -> str:
    return next((line.strip()[:1000] for line in lines if line.strip()), "")


def _frames(lines: Sequence[str], checkout: CheckoutPaths) -> tuple[Frame, ...]:
    """Return the frames of the first stack that are inside the checkout, outermost first."""
    found: list[Frame] = []
    function = ""
    for line in lines:
        if match := _STACK.match(line):
            path = checkout.relative(match[1])
            if is_inside(path):
                found.append((path, int(match[2]), function or "?"))
        elif match := _FUNCTION.match(line):
            function = _CLOSURE.sub("", match[1]).rpartition(".")[2]
        elif found and line.startswith("goroutine "):
            break
    return tuple(reversed(found[:_MOST_FRAMES]))


def read_sections(text: str) -> dict[str, str]:
    """Return the first build errors of each package in the error output of Go."""
    found: dict[str, list[str]] = {}
    package = ""
    for line in plain_lines(text):
        if match := _SECTION.match(line):
            package = match[2] or match[1]
        elif package and line.strip():
            found.setdefault(package, []).append(line)
    return {name: "\n".join(lines[:_SECTION_LINES]) for name, lines in found.items()}


def describe_package(
    name: str, printed: str, sections: Mapping[str, str], checkout: CheckoutPaths
) -> TestResult:
    """Return the error of a package that failed without a failed test.

    Args:
        name: The package.
        printed: What it printed.
        sections: The build errors of all packages.
        checkout: The folder of the run.
    """
    is_build = "[build failed]" in printed or "[setup failed]" in printed
    # The error may be in a package that this one imports: Go prints the first one first.
    text = sections.get(name) or (next(iter(sections.values()), "") if is_build else "")
    found = next(iter(read_findings((compilers.GO,), text)), None)
    if found is None:
        described = describe_failure(name, text or printed, ".", checkout)
        error = described.error or ("build" if is_build else None)
        return described.with_(status=TestStatus.ERROR, error=error, test=None)
    return TestResult(
        name=name,
        status=TestStatus.ERROR,
        error="build",
        error_message=found.message,
        traceback=join_bounded(text.splitlines()),
        file=checkout.relative(found.file),
        line=found.line,
        column=found.column,
    )
