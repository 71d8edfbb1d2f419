"""JUnit XML reports: a weak reading beside the exit status, parsed without entities."""

import posixpath
import re
from fnmatch import fnmatchcase
from typing import NamedTuple
from xml.parsers import expat

from sandbox.runners.any_command import (
    AnyCommand,
    combined_output,
    describe_exit,
    find_start_error,
    printed_failures,
)
from sandbox.runners.base import (
    GuestPlaces,
    Invocation,
    RunnerReading,
    RunRequest,
    shell_invocation,
)
from sandbox.runners.findings import CheckoutPaths
from sandbox.types import CommandResult, TestResult, TestStatus

MAX_BYTES = 4 << 20
"""Limit for one report file."""
MAX_TOTAL_BYTES = 8 << 20
"""Limit for all report files of a run."""
MAX_FILES = 64
MAX_DEPTH = 40
MAX_ELEMENTS = 200_000
MAX_TESTS = 20_000
TEXT_CHARACTERS = 6000
_GIVEN = re.compile(
    r"(?:--junit-?xml|--junitfile|--log-junit|--output-junit|--junit-output|--xml-report)(?:=| +)"
    r"(?P<quote>[\"']?)(?P<path>[\w./@+-]{1,300})(?P=quote)(?=[\s;&|)]|$)"
    r"|\bJEST_JUNIT_OUTPUT_FILE=(?P<jest>[\w./@+-]{1,300})"
)
_USUAL: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"\bjest-junit\b"), ("junit.xml",)),
    (re.compile(r"\bmocha-junit-reporter\b"), ("test-results.xml",)),
    (
        re.compile(r"(?:^|[\s/&;|])mvnw?\b[^\n]*\b(?:test|verify|package|install)\b"),
        ("*target/surefire-reports/TEST-*.xml", "*target/failsafe-reports/TEST-*.xml"),
    ),
    (
        re.compile(r"(?:^|[\s/&;|])gradlew?\b[^\n]*\b(?:test|check|build)\b"),
        ("*build/test-results/*TEST-*.xml",),
    ),
    (re.compile(r"\bcargo nextest run\b"), ("*target/nextest/*junit.xml",)),
)
_BAD = frozenset({TestStatus.FAIL, TestStatus.ERROR})


class ReportRefused(Exception):
    """A report that is not plain JUnit XML, or exceeds a limit."""


def report_paths(command: str, folder: str = ".") -> tuple[str, ...]:
    """Return the JUnit report paths and patterns of a command line, relative to the checkout."""
    found = [match["path"] or match["jest"] for match in _GIVEN.finditer(command)]
    found += [path for tool, usual in _USUAL if tool.search(command) for path in usual]
    paths = (posixpath.normpath(posixpath.join(folder, path)) for path in found)
    return tuple(dict.fromkeys(path for path in paths if not path.startswith(("/", ".."))))


def is_report(path: str, reports: tuple[str, ...]) -> bool:
    """Return True if a file is one of the command's reports."""
    return any(
        path == report or ("*" in report and fnmatchcase(path, report)) for report in reports
    )


class JUnitReports:
    """Recognises commands that write JUnit XML, unless another runner knows them."""

    @property
    def name(self) -> str:
        """Return `junit`."""
        return "junit"

    def recognises(self, command: str, /) -> bool:
        """Return True if this runner reads the command."""
        return bool(report_paths(command))

    def prepare(self, request: RunRequest, places: GuestPlaces, /) -> Invocation:
        """Return what to start."""
        invocation = shell_invocation(request, places)
        return invocation.with_(reports=report_paths(request.command, places.folder))

    def read(
        self, request: RunRequest, invocation: Invocation, result: CommandResult, /
    ) -> RunnerReading:
        """Read the result of a run."""
        if find_start_error(result) or not invocation.found:
            return AnyCommand().read(request, invocation, result)
        place = CheckoutPaths(root=invocation.checkout, folder=invocation.folder)
        tests: list[TestResult] = []
        for data in invocation.found.values():
            try:
                tests += read_junit(data, place)
            except ReportRefused as refused:
                return RunnerReading(
                    inconclusive=f"the test report is unreadable: {refused}", weak=True
                )
        if not tests:
            return AnyCommand().read(request, invocation, result)
        if not result.ok and not any(test.status in _BAD for test in tests):
            # The command failed for another reason than its tests.
            name = request.command.strip()[:200]
            tests += printed_failures(name, combined_output(result), place, describe_exit(result))
        return RunnerReading(results=tuple(tests[:MAX_TESTS]), weak=True)


class _Case(NamedTuple):
    """A test case during parsing."""

    attributes: dict[str, str]
    suite: str
    status: TestStatus = TestStatus.PASS
    message: str = ""
    kind: str = ""
    text: str = ""
    output: str = ""


def read_junit(data: bytes, checkout: CheckoutPaths) -> tuple[TestResult, ...]:
    """Return every test in a report.

    Raises:
        ReportRefused: The report declares a document type or entity, exceeds a limit, or is not
            XML.
    """
    if len(data) > MAX_BYTES:
        raise ReportRefused("it is too large")
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    # Entities could expand exponentially, or read files of the host.
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    parser.UnparsedEntityDeclHandler = _refuse
    parser.ExternalEntityRefHandler = _refuse
    try:
        parser.Parse(data, True)  # noqa: FBT003 - expat takes no names
    except expat.ExpatError as error:
        raise ReportRefused(f"it is not XML: {error}") from error
    return tuple(_result(case, checkout) for case in reader.cases)


def _refuse(*_: object) -> int:
    raise ReportRefused("it declares a document type or an entity")


class _Reader:
    """Handler of the parser's events."""

    def __init__(self) -> None:
        self.cases: list[_Case] = []
        self._suites: list[str] = []
        self._case: _Case | None = None
        self._depth = 0
        self._elements = 0
        self._inside = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > MAX_DEPTH or self._elements > MAX_ELEMENTS:
            raise ReportRefused("it is too deep or too long")
        if tag == "testsuite":
            self._suites.append(attributes.get("name", ""))
        elif tag == "testcase" and len(self.cases) < MAX_TESTS:
            self._case = _Case(attributes, self._suites[-1] if self._suites else "")
        elif self._case is not None and tag in {
            "failure",
            "error",
            "skipped",
            "system-out",
            "system-err",
        }:
            self._inside = tag
            self._outcome(tag, attributes)

    def _outcome(self, tag: str, attributes: dict[str, str]) -> None:
        status = {
            "failure": TestStatus.FAIL,
            "error": TestStatus.ERROR,
            "skipped": TestStatus.SKIP,
        }.get(tag)
        if self._case is None or status is None or self._case.status in _BAD:
            return
        self._case = self._case._replace(
            status=status,
            message=attributes.get("message", "")[:2000],
            kind=attributes.get("type", "")[:200],
        )

    def text(self, data: str) -> None:
        if self._case is None or not self._inside:
            return
        if self._inside.startswith("system"):
            if len(self._case.output) < TEXT_CHARACTERS:
                self._case = self._case._replace(
                    output=(self._case.output + data)[:TEXT_CHARACTERS]
                )
        elif len(self._case.text) < TEXT_CHARACTERS:
            self._case = self._case._replace(text=(self._case.text + data)[:TEXT_CHARACTERS])

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag == self._inside:
            self._inside = ""
        elif tag == "testsuite" and self._suites:
            self._suites.pop()
        elif tag == "testcase" and self._case is not None:
            self.cases.append(self._case)
            self._case = None


def _result(case: _Case, checkout: CheckoutPaths) -> TestResult:
    test = case.attributes.get("name", "")[:400]
    owner = case.attributes.get("classname", "")[:400]
    file = case.attributes.get("file", "")[:400]
    if file:
        place = checkout.relative(file)
        inner = owner.rpartition(".")[2] if owner.rpartition(".")[2][:1].isupper() else ""
        name = "::".join(part for part in (place, inner, test) if part)
    elif case.suite == "pytest":
        # A collection error is named by its module and has no class.
        place, classes = _split_pytest_owner(owner or test)
        test = test if owner else ""
        name = "::".join(part for part in (place, *classes, test) if part)
    else:
        place, name = "", "::".join(part for part in (owner or case.suite[:400], test) if part)
    bad = case.status in _BAD
    message = case.message or next((line for line in case.text.splitlines() if line.strip()), "")
    return TestResult(
        name=name or "?",
        status=case.status,
        output=case.output.strip() if bad else "",
        error_message=message.strip()[:2000] or None if bad else None,
        error=case.kind.rpartition(".")[2] or None if bad else None,
        traceback=case.text.strip() or None if bad else None,
        duration_ms=_milliseconds(case.attributes.get("time", "")),
        file=place or None,
        line=_line(case.attributes.get("line", "")) if bad else None,
        test=test.split("[", maxsplit=1)[0] or None,
    )


def _split_pytest_owner(owner: str) -> tuple[str, list[str]]:
    """Split `tests.test_m.TestA` into file `tests/test_m.py` and class `TestA`."""
    parts = owner.split(".") if owner else []
    cut = next((index for index, part in enumerate(parts) if part[:1].isupper()), len(parts))
    return ("/".join(parts[:cut]) + ".py" if cut else ""), parts[cut:]


def _milliseconds(text: str) -> float:
    try:
        seconds = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return round(seconds * 1000, 3) if 0 <= seconds < 10**6 else 0.0


def _line(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) < 8  # noqa: PLR2004
    return int(text) if is_number else None
