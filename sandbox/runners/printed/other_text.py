"""Parse the output of test runners of other languages: go, cargo, jest and vitest, surefire."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from sandbox.runners.findings import CheckoutPaths
from sandbox.runners.printed.blocks import blocks, join_bounded
from sandbox.runners.printed.node_frames import FILE, read_frame
from sandbox.types import TestResult, TestStatus

_GO_FAIL = re.compile(r"^ {0,40}--- FAIL: (\S{1,300}) \([\d.]{1,12}s\)$")
_GO_END = re.compile(r"^(?:FAIL|ok|PASS|exit status \d+|=== RUN|--- )\b")
_GO_PLACE = re.compile(r"^\s{1,40}([\w.-]{1,200}\.go):(\d{1,7}): ?(.{0,1000})$")
_GO_PACKAGE = re.compile(r"^FAIL\t(\S{1,300})\t[\d.]{1,12}s$")
_CARGO_TARGET = re.compile(r"^ {1,12}Running (?:unittests )?(\S{1,300}\.rs) \(")
_CARGO_FAIL = re.compile(r"^test (\S{1,300}) \.\.\. FAILED$")
_CARGO_BLOCK = re.compile(r"^---- (\S{1,300}) stdout ----$")
_CARGO_END = re.compile(r"^failures:$|^test result: ")
_CARGO_PANIC = re.compile(
    r"^thread '.{1,300}'(?: \(\d+\))? panicked at (?:'(.{0,1000})', )?(\S{1,300}):"
    r"(\d{1,7}):\d{1,7}:?$"
)
_JEST_PROJECT = r"(?:\|[^|\n]{1,60}\| |@\S{1,60} |[^\s/|@]{1,60} )?"
_JEST_FILE = re.compile(
    rf"^ ?FAIL {{1,3}}{_JEST_PROJECT}({FILE})(?: > (.{{1,300}}))?(?: \([\d.]+ m?s\))?$"
)
_JEST_TEST = re.compile(r"^ {2}● (?!Console)(.{1,300})$")
_NESTED = re.compile(r" [\u203a>] ")
_JEST_END = re.compile(r"^(?:PASS|FAIL|Tests:|Test Suites:|Summary of all failing) ?")
_SUREFIRE = re.compile(
    r"^\[ERROR\] {1,6}([\w$.]{1,200})\.([\w$]{1,200}):(\d{1,7})(?:->\S{0,200})? ?(.{0,1000})$"
)


def go_failures(lines: Sequence[str], checkout: CheckoutPaths) -> Iterator[TestResult]:
    """Parse `go test`, as text or as JSON (from gotestsum and `-json`)."""
    spoken = _go_output(lines)
    package = ""
    packages = [match.group(1) for line in spoken if (match := _GO_PACKAGE.match(line))]
    # With several packages the text does not tell which one a test is in.
    if len(packages) == 1:
        package = packages[0]
    for head, body in blocks(spoken, _GO_FAIL, _GO_END):
        place = next((match for line in body if (match := _GO_PLACE.match(line))), None)
        test = head.group(1)
        yield TestResult(
            name=f"{package}::{test}" if package else test,
            status=TestStatus.FAIL,
            error_message=(place.group(3) if place else "") or None,
            traceback=join_bounded(body) or None,
            file=checkout.relative(place.group(1)) if place else None,
            line=int(place.group(2)) if place else None,
            test=test,
        )


def _go_output(lines: Sequence[str]) -> Sequence[str]:
    """Return the text in a stream of `go test -json`; other lines stay unchanged."""
    if not any(line.startswith('{"') and '"Action":' in line for line in lines[:50]):
        return lines
    spoken: list[str] = []
    for line in lines:
        entry = _json(line)
        output = entry.get("Output") if isinstance(entry, dict) else None
        spoken += output.rstrip("\n").split("\n") if isinstance(output, str) else []
    return spoken


def _json(line: str) -> Any:
    try:
        return json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        return None


def cargo_failures(lines: Sequence[str], checkout: CheckoutPaths) -> Iterator[TestResult]:
    """Parse `cargo test` in human format."""
    details: dict[str, tuple[str, str, int, str]] = {}
    for head, body in blocks(lines, _CARGO_BLOCK, _CARGO_END):
        for index, line in enumerate(body):
            if match := _CARGO_PANIC.match(line):
                # Older versions print the message before the place, newer ones on the following
                # lines.
                text = match.group(1) or " ".join(
                    part.strip() for part in body[index + 1 : index + 4]
                )
                message = text.split(" stack backtrace:")[0].split(" note: run with")[0].strip()
                details[head.group(1)] = (
                    message,
                    match.group(2),
                    int(match.group(3)),
                    join_bounded(body),
                )
                break
    target = ""
    for line in lines:
        # Each test program prints its name before its tests.
        if match := _CARGO_TARGET.match(line):
            target = match.group(1)
        elif match := _CARGO_FAIL.match(line):
            test = match.group(1)
            message, file, number, text = details.get(test, ("", target, 0, ""))
            yield TestResult(
                name=f"{checkout.relative(target)}::{test}" if target else test,
                status=TestStatus.FAIL,
                error_message=message or None,
                error="panic" if message else None,
                traceback=text or None,
                file=checkout.relative(file) if file else None,
                line=number or None,
                test=test.rsplit("::", 1)[-1],
            )


def jest_failures(lines: Sequence[str], checkout: CheckoutPaths) -> Iterator[TestResult]:
    """Parse Jest and vitest."""
    for head, body in blocks(lines, _JEST_FILE, most=len(lines)):
        file = checkout.relative(head.group(1))
        # vitest puts file and test on one line; Jest lists the tests below the file.
        if head.group(2):
            yield _jest(file, head.group(2), body, checkout)
            continue
        for test, text in blocks(body, _JEST_TEST, _JEST_END):
            yield _jest(file, test.group(1), text, checkout)


def _jest(file: str, test: str, body: list[str], checkout: CheckoutPaths) -> TestResult:
    frames = (read_frame(line, checkout) for line in body if "node_modules" not in line)
    place = next((frame for frame in frames if frame is not None), None)
    message = next((line.strip() for line in body if line.strip()), "")
    return TestResult(
        # As in the records of our own reporters.
        name=f"{file}::{' > '.join(_NESTED.split(test.strip()))}",
        status=TestStatus.FAIL,
        error_message=message[:1000] or None,
        traceback=join_bounded(body) or None,
        file=place[0] if place else file,
        line=place[1] if place else None,
        test=_NESTED.split(test)[-1].strip(),
    )


def surefire_failures(lines: Sequence[str], _checkout: CheckoutPaths) -> Iterator[TestResult]:
    """Parse the list of failures by Maven's surefire and failsafe."""
    for line in lines:
        if match := _SUREFIRE.match(line):
            case, test, number, message = match.groups()
            yield TestResult(
                name=f"{case}::{test}",
                status=TestStatus.FAIL,
                error_message=message or None,
                line=int(number),
                test=test,
            )
