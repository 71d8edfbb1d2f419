"""Parse the output of mocha, of node's own test runner, and of anything that prints TAP."""

import re
from collections.abc import Iterator, Sequence

from sandbox.runners.findings import CheckoutPaths
from sandbox.runners.printed.blocks import MESSAGE_CHARACTERS, blocks, is_inside, join_bounded
from sandbox.runners.printed.node_frames import read_frame
from sandbox.types import TestResult, TestStatus

_SEPARATOR = " \u203a "
"""Between suite and test, as Jest prints it."""
_MOCHA_START = re.compile(r"^ {2}\d{1,6} failing$")
_MOCHA_FAIL = re.compile(r"^ {2}\d{1,6}\) (\S.{0,500})$")
_SPEC_FAIL = re.compile(r"^test at ([^\s:][^:\n]{0,400}):(\d{1,7}):\d{1,7}$")
_SPEC_NAME = re.compile(r"^✖ (.{1,500}?)(?: \([\d.]{1,20}ms\))?$")
_TAP_SUBTEST = re.compile(r"^( {0,80})# Subtest: (.{1,500})$")
_TAP_RESULT = re.compile(r"^( {0,80})(not )?ok \d{1,7}(?: (?:- )?(.{1,500}?))?(?: # (.{0,200}))?$")
_TAP_PLACE = re.compile(r"^ {1,80}location: '?((?:file://)?[^':\n]{1,400}):(\d{1,7}):\d{1,7}'?$")
_TAP_ERROR = re.compile(r"^ {1,80}error: (.{1,1000})$")
_TAP_KEY = re.compile(r"^ {1,80}(?:---|\.\.\.|[\w-]{1,40}:.{0,1000})$")
_TAP_LEAF = 4
"""Columns by which a subtest is indented."""
_MOST_DETAILS = 60


def mocha_failures(lines: Sequence[str], checkout: CheckoutPaths) -> Iterator[TestResult]:
    """Parse the list of failures at the end of mocha's spec, dot and similar reporters."""
    start = next((n for n, line in enumerate(lines) if _MOCHA_START.match(line)), len(lines))
    for head, body in blocks(lines[start:], _MOCHA_FAIL):
        titles, rest = [head.group(1)], body
        # The title goes on, one suite a line, up to a colon.
        while rest and not titles[-1].endswith(":") and rest[0].startswith("     "):
            titles.append(rest[0].strip())
            rest = rest[1:]
        name = _SEPARATOR.join(titles).removesuffix(":")
        yield _failure(name, titles[-1].removesuffix(":"), rest, checkout)


def spec_failures(lines: Sequence[str], checkout: CheckoutPaths) -> Iterator[TestResult]:
    """Parse the list of failures at the end of node's spec reporter."""
    for head, body in blocks(lines, _SPEC_FAIL):
        title = _SPEC_NAME.match(body[0]) if body else None
        if title is None:
            continue
        file = checkout.relative(head.group(1))
        found = _failure(f"{file}::{title.group(1)}", title.group(1), body[1:], checkout)
        place = {} if found.line else {"file": file, "line": int(head.group(2))}
        yield found.with_(**place)


def tap_failures(lines: Sequence[str], checkout: CheckoutPaths) -> Iterator[TestResult]:
    """Parse TAP of any version: node, tap, tape, mocha, and other languages.

    A test that only failed because a subtest did is no failure of its own.
    """
    suites: list[str] = []
    deepest_failure = -1
    for number, line in enumerate(lines):
        if subtest := _TAP_SUBTEST.match(line):
            depth = len(subtest.group(1)) // _TAP_LEAF
            suites[depth:] = [subtest.group(2)]
            continue
        result = _TAP_RESULT.match(line)
        if result is None:
            continue
        depth = len(result.group(1)) // _TAP_LEAF
        directive = (result.group(4) or "").lower()
        failed = result.group(2) is not None and not directive.startswith(("todo", "skip"))
        has_failed_subtest = deepest_failure > depth
        deepest_failure = depth if failed else min(deepest_failure, depth)
        if not failed or has_failed_subtest:
            continue
        title = result.group(3) or "unnamed"
        details = _details(lines[number + 1 : number + 1 + _MOST_DETAILS])
        yield _tap_failure([*suites[:depth], title], details, checkout)


def _details(lines: Sequence[str]) -> list[str]:
    """Return the indented lines below a result."""
    found: list[str] = []
    for line in lines:
        if (line[:1] != " " and line) or _TAP_RESULT.match(line) or _TAP_SUBTEST.match(line):
            break
        found.append(line)
        if line.strip() == "...":
            break
    return found


def _tap_failure(
    titles: Sequence[str], details: Sequence[str], checkout: CheckoutPaths
) -> TestResult:
    name = _SEPARATOR.join(titles)
    place = next((match for line in details if (match := _TAP_PLACE.match(line))), None)
    error = next((match.group(1) for line in details if (match := _TAP_ERROR.match(line))), "")
    plain = [line for line in details if not _TAP_KEY.match(line)]
    found = _failure(name, titles[-1], plain, checkout)
    if place is not None:
        file = checkout.relative(place.group(1))
        found = found.with_(name=f"{file}::{name}")
        if not found.line:
            found = found.with_(file=file, line=int(place.group(2)))
    if error and not error.startswith(("|", ">")):
        found = found.with_(error_message=error.strip("'\"")[:MESSAGE_CHARACTERS])
    return found.with_(traceback=join_bounded(details) or None)


def _failure(name: str, test: str, body: Sequence[str], checkout: CheckoutPaths) -> TestResult:
    """Return a failure whose text names the error first, then its stack."""
    message = next((line.strip() for line in body if line.strip()), "")
    kind = re.match(r"([A-Z]\w{0,60}(?:Error|Exception))\b", message)
    frames = (frame for line in body if (frame := read_frame(line, checkout)))
    places = (one for one in frames if is_inside(one[0]) and "node_modules/" not in one[0])
    file, line = next(places, (None, None))
    return TestResult(
        name=name,
        status=TestStatus.FAIL,
        error_message=message[:MESSAGE_CHARACTERS] or None,
        error=kind.group(1) if kind else None,
        traceback=join_bounded(body) or None,
        file=file,
        line=line,
        test=test,
    )
