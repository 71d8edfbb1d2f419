"""Findings of tools, and their conversion to named failures."""

import posixpath
import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from sandbox.types import CHANGED, USUAL, TestResult, TestStatus

MAX_FINDINGS = 2000
MESSAGE_CHARACTERS = 1000
_RUNNER_FOLDERS = re.compile(
    r"^(?:/home/[\w.-]{1,60}/(?:[\w.-]{1,60}/){0,3}_?work/([\w.-]{1,100})/\1/"
    r"|/Users/[\w.-]{1,60}/(?:[\w.-]{1,60}/){0,3}_?work/([\w.-]{1,100})/\2/"
    r"|/__w/([\w.-]{1,100})/\3/"
    r"|[A-Za-z]:/(?:[\w.-]{1,60}/){1,3}([\w.-]{1,100})/\4/"
    r"|/github/workspace/|" + "|".join(f"{each.workdir}/" for each in (USUAL, CHANGED)) + ")"
)
"""Checkout folders of hosted and self-hosted runners, job containers, Docker actions and our
sandbox.
"""


class PrintedFinding(NamedTuple):
    """One complaint of a tool."""

    file: str
    line: int | None
    rule: str
    message: str
    column: int | None = None
    severity: str = "error"
    """`error`, `warning` or `note`."""


class CheckoutPaths(NamedTuple):
    """The folder of a tool's run, to make its paths relative to the checkout."""

    root: str = ""
    """Absolute; empty if unknown, as in a log."""
    folder: str = "."
    """The working directory, relative to the root."""

    def relative(self, path: str) -> str:
        """Return a path relative to the checkout; outside paths stay unchanged."""
        path = path.strip()
        if path.startswith("file://"):
            path = unquote(path.removeprefix("file://"))
        if "\\" in path and "/" not in path:
            path = path.replace("\\", "/")
        if self.root and path.startswith(f"{self.root}/"):
            return posixpath.normpath(path.removeprefix(f"{self.root}/"))
        shorter = _RUNNER_FOLDERS.sub("", path, count=1)
        if shorter != path or path.startswith("/") or path[1:3] == ":/":
            return shorter
        joined = posixpath.normpath(posixpath.join(self.folder, path))
        return path if joined.startswith("..") else joined


def as_results(
    findings: Iterable[PrintedFinding], checkout: CheckoutPaths | None = None
) -> tuple[TestResult, ...]:
    """Convert findings to failures named `path:line:rule`; duplicate names get a number.

    Notes belong to the finding before them. Warnings count only if there are no errors: a tool that
    fails on warnings alone is configured to.
    """
    place = checkout or CheckoutPaths()
    joined = _with_notes(findings)
    worst = [finding for finding in joined if finding.severity == "error"] or joined
    named: dict[str, TestResult] = {}
    for finding in worst[:MAX_FINDINGS]:
        path = place.relative(finding.file)
        # Only names of tests contain two colons; lints are called `clippy::ptr_arg`.
        rule = finding.rule.replace("::", "/")
        plain = f"{path}:{finding.line}:{rule}" if finding.line else f"{path}:{rule}"
        name, number = plain, 2
        while name in named and named[name].error_message != finding.message:
            name, number = f"{plain}#{number}", number + 1
        named[name] = TestResult(
            name=name,
            status=TestStatus.FAIL,
            error_message=finding.message,
            file=path,
            line=finding.line,
            column=finding.column,
            error=finding.rule,
        )
    return tuple(named.values())


def _with_notes(findings: Iterable[PrintedFinding]) -> list[PrintedFinding]:
    kept: list[PrintedFinding] = []
    for finding in findings:
        if finding.severity != "note":
            kept.append(finding)
        elif kept and len(kept[-1].message) < MESSAGE_CHARACTERS:
            message = f"{kept[-1].message}; {finding.message}"[:MESSAGE_CHARACTERS]
            kept[-1] = kept[-1]._replace(message=message)
        if len(kept) >= 4 * MAX_FINDINGS:
            break
    return kept
