"""Parse pytest's output: the short summary, the lines of -v, and the failure sections."""

import re
from collections.abc import Iterator, Sequence

from sandbox.runners.findings import CheckoutPaths
from sandbox.runners.printed.blocks import (
    Frame,
    blocks,
    is_inside,
    join_bounded,
    last_exception,
    python_frames,
)
from sandbox.types import TestResult, TestStatus

_NODE = (
    r"((?:[\w.+@-]{1,120}/){0,20}[\w.+@-]{1,120}\.(?:py|txt|rst|md|ipynb|feature"
    r"|ya?ml)(?:::.{1,400}?)?)"
)
_SUMMARY = re.compile(rf"^(FAILED|ERROR) (?:\[[\d.]{{1,12}}s\] )?{_NODE}(?: - (.{{0,1000}}))?$")
_VERBOSE = re.compile(
    rf"^(?:\[gw\d{{1,4}}\] )?{_NODE}(?: <- \S{{1,300}})? (FAILED"
    rf"|ERROR)(?: \[[\d.]{{1,12}}s\])?(?: +\[ *\d{{1,3}}%\])?$"
)
_WORKER = re.compile(rf"^\[gw\d{{1,4}}\] \[ *\d{{1,3}}%\] (FAILED|ERROR) {_NODE} ?$")
_BANNER = re.compile(r"^={3,} (.{1,200}) ={3,}$")
_TITLE = re.compile(r"^_{3,} (?:\[gw\d{1,4}\] )?(.{1,300}?) _{3,}$")
_CAPTURED = re.compile(r"^-{3,} Captured ")
_PLACE = re.compile(
    r"^((?:[A-Za-z]:)?[^\s:][^:\n]{0,400}):(\d{1,7}): ?(?:in ([^\n]{1,200})"
    r"|([A-Za-z_][\w.]{0,150}))?$"
)
_MESSAGE = re.compile(r"^E {1,12}(.{0,1000})$")
_CLASS = re.compile(r"^([A-Za-z_][\w.]{0,150})(?::|$)")
_AT = re.compile(r"^ERROR (?:at (?:setup|teardown) of|collecting) ")


def pytest_failures(lines: Sequence[str], checkout: CheckoutPaths) -> Iterator[TestResult]:
    """Yield the failures in pytest's order."""
    named = dict(_named(lines))
    details = dict(_details(lines, checkout))
    for name, (status, message) in named.items():
        # Titles of sections lack the file, so only names that differ are told apart.
        detail = details.pop(_section_title(name), None) or details.pop(name, None)
        yield _result(_resolve_file(checkout.relative(name), detail), status, message, detail)
    # Sections without a name: the summary was switched off or cut.
    for title, detail in details.items():
        file = detail.file
        if file is not None:
            name = title if title.endswith(".py") else f"{file}::{title.replace('.', '::')}"
            yield _result(name, detail.status, "", detail)


def _named(lines: Sequence[str]) -> Iterator[tuple[str, tuple[TestStatus, str]]]:
    """Yield names with status and message. The summary comes last and has the most details."""
    for line in lines:
        if match := _SUMMARY.match(line):
            kind, name, message = match.groups()
        elif match := _VERBOSE.match(line):
            name, kind = match.groups()
            message = ""
        elif match := _WORKER.match(line):
            kind, name = match.groups()
            message = ""
        else:
            continue
        yield name, (TestStatus.FAIL if kind == "FAILED" else TestStatus.ERROR, message or "")


def _resolve_file(name: str, detail: TestResult | None) -> str:
    """Return a name relative to the checkout, by a frame in the test's own file."""
    path, separator, rest = name.partition("::")
    for file, _, _ in detail.frames if detail else ():
        # pytest's root may be a folder of the checkout, and frames have full paths.
        if file.endswith(f"/{path}"):
            return file + separator + rest
    return name


def _section_title(name: str) -> str:
    """Return a test's title in the sections: `T.test_x[1]` for `tests/a.py::T::test_x[1]`."""
    path, _, rest = name.partition("::")
    inside, bracket, parameters = rest.partition("[")
    return f"{inside.replace('::', '.')}{bracket}{parameters}" if rest else path


def _details(lines: Sequence[str], checkout: CheckoutPaths) -> Iterator[tuple[str, TestResult]]:
    """Yield the section titles with their content."""
    for banner, body in blocks(lines, _BANNER, most=len(lines)):
        if banner.group(1) not in {"FAILURES", "ERRORS"}:
            continue
        for title, text in blocks(body, _TITLE):
            name = _AT.sub("", title.group(1))
            status = TestStatus.FAIL if banner.group(1) == "FAILURES" else TestStatus.ERROR
            yield name, _parse_section(name, status, text, checkout)


def _parse_section(
    name: str, status: TestStatus, body: list[str], checkout: CheckoutPaths
) -> TestResult:
    # Captured output is the program's, and may look like anything.
    cut = next((index for index, line in enumerate(body) if _CAPTURED.match(line)), len(body))
    own, captured = body[:cut], body[cut:]
    messages = [match.group(1) for line in own if (match := _MESSAGE.match(line))]
    frames = (*_places(own, checkout), *python_frames(own, checkout))
    error, message = last_exception(own)
    if messages:
        # The first marked line is the exception; the others explain it.
        message = messages[0]
        error = (
            match.group(1).rsplit(".", 1)[-1]
            if (match := _CLASS.match(message))
            else "AssertionError"
        )
    where = frames[-1] if frames else (None, None, "")
    return TestResult(
        name=name or "?",
        status=status,
        output=join_bounded(captured),
        error_message=message or None,
        error=error or None,
        traceback=join_bounded(own) or None,
        file=where[0],
        line=where[1],
        frames=frames,
    )


def _places(lines: list[str], checkout: CheckoutPaths) -> tuple[Frame, ...]:
    found = []
    for line in lines:
        match = _PLACE.match(line)
        if match is not None:
            path = checkout.relative(match.group(1))
            if is_inside(path):
                found.append((path, int(match.group(2)), match.group(3) or ""))
    return tuple(found[-40:])


def _result(name: str, status: TestStatus, message: str, detail: TestResult | None) -> TestResult:
    file, _, rest = name.partition("::")
    error = (
        match.group(1).rsplit(".", 1)[-1]
        if ":" in message and (match := _CLASS.match(message))
        else None
    )
    found = detail or TestResult(name=name, status=status)
    return found.with_(
        name=name,
        status=status,
        error_message=message or found.error_message,
        error=found.error or error,
        file=found.file or file,
        test=rest.split("[", 1)[0].rsplit("::", 1)[-1] or None,
    )
