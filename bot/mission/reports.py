"""What the stages need to know about reports: cut them, narrow them, compare them. Pure."""

import re
from collections import Counter
from collections.abc import Collection

from sandbox.types import TestReport, TestStatus

_OUTPUT = 20_000
"""Characters of raw output that are remembered of a run; a step's value stays small."""
_FINDING = re.compile(r"^[^:]+:(?:\d+:|[^:]+$)")
"""The name of a linter's finding: path, line and rule, or path and rule."""
_TARGETS = 200
"""More failing tests than this are not named one by one: the whole command runs."""


def bounded(report: TestReport) -> TestReport:
    """A report with its raw output cut to what is worth remembering: the head and, mostly, the tail.

    Args:
        report: One run.
    """
    raw = report.raw_output
    if len(raw) <= _OUTPUT:
        return report
    return report.with_(raw_output=f"{raw[: _OUTPUT // 4]}\n[...]\n{raw[-_OUTPUT * 3 // 4 :]}")


def slim(report: TestReport) -> TestReport:
    """A report with outcomes and error classes, and hardly any text.

    Args:
        report: One run.
    """
    failures = tuple(
        f.with_(output="", traceback=None, error_message=(f.error_message or "")[:500]) for f in report.failures
    )
    return report.with_(raw_output=report.raw_output[-1000:], failures=failures)


def targets_of(report: TestReport) -> tuple[str, ...]:
    """The failing tests as arguments of the command; empty when only the whole command can be run.

    Args:
        report: A red run.
    """
    failing = tuple(sorted(report.failing))
    if not report.knows_tests or len(failing) > _TARGETS:
        return ()
    return failing


def narrowed(report: TestReport, left_out: Collection[str]) -> TestReport:
    """A red run without tests that are somebody else's: flaky ones, and those that were red before.

    Args:
        report: A red run.
        left_out: Names of tests; nothing happens when nothing else fails.
    """
    gone = report.failing & set(left_out)
    if not gone or gone == report.failing:
        return report
    return report.with_(
        failures=tuple(f for f in report.failures if f.name not in gone),
        failure_count=report.failure_count - len(gone),
        outcomes={name: status for name, status in report.outcomes.items() if name not in gone},
    )


def outcomes_of(report: TestReport) -> dict[str, TestStatus]:
    """Outcomes under names that stay the same when lines move: a linter's findings are counted by path and rule.

    Args:
        report: One run.
    """
    if report.runner != "diagnostics":
        return report.outcomes
    seen: Counter[str] = Counter()
    stable = {}
    for name in sorted(report.outcomes):
        if not _FINDING.search(name):  # a test of a command that ran before the linter
            stable[name] = report.outcomes[name]
            continue
        path, _, rest = name.partition(":")
        key = f"{path}:{rest.rpartition(':')[2]}"
        seen[key] += 1
        stable[f"{key}#{seen[key]}"] = report.outcomes[name]
    return stable


def failing_of(outcomes: dict[str, TestStatus]) -> frozenset[str]:
    """The names of failing and erroring tests.

    Args:
        outcomes: By name.
    """
    return frozenset(n for n, s in outcomes.items() if s in {TestStatus.FAIL, TestStatus.ERROR})
