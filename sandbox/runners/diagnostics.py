"""Linters, formatters and type checkers for Python: what they print becomes file, line, rule and message."""

import re
from collections.abc import Callable, Iterator

from sandbox.guest.pytest_command import split_words
from sandbox.runners.any_command import printed, why_not_run
from sandbox.runners.base import GuestPlaces, Invocation, Reading, RunRequest, shell_invocation
from sandbox.types import CommandResult, TestResult, TestStatus

Finding = tuple[str, int | None, str, str]
"""File, line, rule, message."""

MAX_FINDINGS = 2000
_ANSI = re.compile(r"\x1b\[[0-9;]{0,20}m")
_CONCISE = re.compile(
    r"^([^\s:][^:\n]{0,400}):(\d{1,7}):(?:(\d{1,7}):)? (?:([A-Z]+[0-9]*|invalid-syntax):? )(?:\[\*\] )?(.{1,1000})$",
    re.MULTILINE,
)
_RUFF_FULL = re.compile(
    r"^(?:(error|warning)\[)?([A-Z]+[0-9]+|invalid-syntax|[a-z][a-z-]{2,60})\]?:? (?:\[\*\] )?(.{1,1000})\n"
    r" {1,12}--> ([^:\n]{1,400}):(\d{1,7}):\d{1,7}$",
    re.MULTILINE,
)
_MYPY = re.compile(
    r"^([^\s:][^:\n]{0,400}):(\d{1,7}): (?:\d{1,7}: )?error: (.{1,1000}?)(?:  \[([\w-]{1,60})\])?$", re.MULTILINE
)
_MYPY_COLUMN = re.compile(
    r"^([^\s:][^:\n]{0,400}):(\d{1,7}):\d{1,7}: error: (.{1,1000}?)(?:  \[([\w-]{1,60})\])?$", re.MULTILINE
)
_PYRIGHT = re.compile(
    r"^ {0,8}([^\s:][^:\n]{0,400}):(\d{1,7}):\d{1,7} - error: (.{1,1000}?)(?: \((report\w{1,60})\))?$", re.MULTILINE
)
_REFORMAT = re.compile(r"^[Ww]ould reformat:? (.{1,400})$", re.MULTILINE)
_UNFORMATTED = re.compile(
    r"^unformatted: File would be reformatted\n {1,12}--> ([^:\n]{1,400}):(\d{1,7}):\d{1,7}$", re.MULTILINE
)
_ISORT = re.compile(r"^ERROR: (.{1,400}?) Imports are incorrectly sorted", re.MULTILINE)
_PARSE = re.compile(
    r"^error: (?:[Ff]ailed to parse|cannot format) ([^:\n]{1,400}?):(?:(\d{1,7}):)?(?:\d{1,7}:)? ?(.{0,1000})$",
    re.MULTILINE,
)


def _concise(text: str) -> Iterator[Finding]:
    for file, line, _, rule, message in _CONCISE.findall(text):
        yield file, int(line), rule, message


def _ruff(text: str) -> Iterator[Finding]:
    yield from _concise(text)
    for _, rule, message, file, line in _RUFF_FULL.findall(text):
        yield file, int(line), rule, message


def _typed(pattern: re.Pattern[str], text: str) -> Iterator[Finding]:
    for file, line, message, rule in pattern.findall(text):
        yield file, int(line), rule or "error", message


def _mypy(text: str) -> Iterator[Finding]:
    yield from _typed(_MYPY, text)
    yield from _typed(_MYPY_COLUMN, text)


def _pyright(text: str) -> Iterator[Finding]:
    yield from _typed(_PYRIGHT, text)


def _formatter(text: str) -> Iterator[Finding]:
    for file, line in _UNFORMATTED.findall(text):
        yield file, int(line), "format", "the file is not formatted"
    for file in _REFORMAT.findall(text):
        yield file, None, "format", "the file is not formatted"


def _isort(text: str) -> Iterator[Finding]:
    for file in _ISORT.findall(text):
        yield file, None, "imports", "imports are not sorted"


TOOLS: tuple[tuple[tuple[str, ...], Callable[[str], Iterator[Finding]]], ...] = (
    (("ruff", "format"), _formatter),
    (("ruff",), _ruff),
    (("flake8",), _concise),
    (("pylint",), _concise),
    (("pycodestyle",), _concise),
    (("black",), _formatter),
    (("isort",), _isort),
    (("mypy",), _mypy),
    (("pyright",), _pyright),
)
_LAUNCHERS = (("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run"), ("uvx",), ("pipx", "run"))


class Diagnostics:
    """Recognises ruff, flake8, pylint, pycodestyle, black, isort, mypy and pyright."""

    @property
    def name(self) -> str:
        """`diagnostics`."""
        return "diagnostics"

    def recognises(self, command: str) -> bool:
        """Whether this runner reads the command."""
        return _reader_for(command) is not None

    def prepare(self, request: RunRequest, _places: GuestPlaces, /) -> Invocation:
        """What to start."""
        return shell_invocation(request)

    def read(self, request: RunRequest, _invocation: Invocation, result: CommandResult, /) -> Reading:
        """What the run left."""
        missing = why_not_run(result)
        if missing:
            return Reading(inconclusive=missing, weak=True)
        name = request.command.strip()[:200]
        if result.ok:
            return Reading(results=(TestResult(name=name, status=TestStatus.PASS),), weak=True)
        reader = _reader_for(request.command) or _concise
        text = _ANSI.sub("", printed(result))
        findings = _results([*reader(text), *_broken_files(text)])
        if findings:
            return Reading(results=findings, weak=True)
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
        return Reading(inconclusive=f"{name} failed without naming a place: {last.strip()[:300]}", weak=True)


def _reader_for(command: str) -> Callable[[str], Iterator[Finding]] | None:
    words = split_words(command)
    if not words:
        return None
    for launcher in _LAUNCHERS:
        if tuple(words[: len(launcher)]) == launcher:
            words = words[len(launcher) :]
    if words[1:2] == ["-m"] and words[0].startswith("python"):
        words = words[2:]
    if not words:
        return None
    words[0] = words[0].rsplit("/", 1)[-1]
    return next((reader for start, reader in TOOLS if tuple(words[: len(start)]) == start), None)


def _broken_files(text: str) -> Iterator[Finding]:
    for file, line, message in _PARSE.findall(text):
        yield file, int(line) if line else None, "syntax", message or "the file cannot be parsed"


def _results(findings: list[Finding]) -> tuple[TestResult, ...]:
    """One failure per finding; findings with one name are told apart by a number."""
    named: dict[str, TestResult] = {}
    for file, line, rule, message in findings[:MAX_FINDINGS]:
        path = re.sub(r"^(?:\./|/work/repo/)", "", file.strip())
        name = f"{path}:{line}:{rule}" if line else f"{path}:{rule}"
        number = 2
        while name in named and (named[name].error_message != message):
            name = f"{path}:{line}:{rule}#{number}"
            number += 1
        named[name] = TestResult(
            name=name,
            status=TestStatus.FAIL,
            error_message=message,
            file=path,
            line=line,
            error=rule,
        )
    return tuple(named.values())
