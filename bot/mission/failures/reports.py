"""Test reports: bound, narrow and compare them. Pure."""

import re
from collections import Counter
from collections.abc import Collection

from sandbox.types import TestReport, TestStatus

_OUTPUT = 20_000
"""Maximum characters of raw output stored for a run."""
_FINDING = re.compile(r"^[^:]+:(?:\d+:|[^:]+$)")
"""The name of a linter's finding: path, line and rule, or path and rule."""
_TARGETS = 200
"""Maximum number of failing tests to run by name; above it the whole command runs."""


def bounded(report: TestReport) -> TestReport:
    """Return a report with bounded raw output: the head and, mostly, the tail.

    Args:
        report: One run.
    """
    raw = report.raw_output
    if len(raw) <= _OUTPUT:
        return report
    # Runners print their summary at the end, so the tail gets three quarters.
    return report.with_(raw_output=f"{raw[: _OUTPUT // 4]}\n[...]\n{raw[-_OUTPUT * 3 // 4 :]}")


def slim(report: TestReport) -> TestReport:
    """Return a report with outcomes and error classes, and hardly any text.

    Args:
        report: One run.
    """
    failures = tuple(
        f.with_(output="", traceback=None, error_message=(f.error_message or "")[:500])
        for f in report.failures
    )
    return report.with_(raw_output=report.raw_output[-1000:], failures=failures)


def select_targets(report: TestReport) -> tuple[str, ...]:
    """Return the failing tests as arguments of the command; empty if it can only run as a whole.

    Args:
        report: A red run.
    """
    failing = tuple(sorted(report.failing))
    if not report.knows_tests or len(failing) > _TARGETS:
        return ()
    return failing


def narrowed(report: TestReport, left_out: Collection[str]) -> TestReport:
    """Return a red run without tests that are not this mission's: flaky or red before.

    Args:
        report: A red run.
        left_out: Names of tests; ignored if no other test fails.
    """
    gone = report.failing & set(left_out)
    if not gone or gone == report.failing:
        return report
    return report.with_(
        failures=tuple(f for f in report.failures if f.name not in gone),
        failure_count=report.failure_count - len(gone),
        outcomes={name: status for name, status in report.outcomes.items() if name not in gone},
    )


def map_outcomes(report: TestReport) -> dict[str, TestStatus]:
    """Return outcomes by stable names.

    A linter's findings are counted by path and rule, because lines move.

    Args:
        report: One run.
    """
    if not report.traits.is_findings:
        return report.outcomes
    seen: Counter[str] = Counter()
    stable = {}
    for name in sorted(report.outcomes):
        if not _FINDING.search(name):  # a test of an earlier command of the line
            stable[name] = report.outcomes[name]
            continue
        path, _, rest = name.partition(":")
        key = f"{path}:{rest.rpartition(':')[2]}"
        seen[key] += 1
        stable[f"{key}#{seen[key]}"] = report.outcomes[name]
    return stable


def list_failing(outcomes: dict[str, TestStatus]) -> frozenset[str]:
    """Return the names of failing tests, errors included.

    Args:
        outcomes: Outcomes by name.
    """
    return frozenset(n for n, s in outcomes.items() if s in {TestStatus.FAIL, TestStatus.ERROR})
