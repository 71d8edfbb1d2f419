"""Read and compare the reports of linters and type checkers."""

from collections import Counter

from sandbox.changes import protected_class
from sandbox.languages import is_checked_source
from sandbox.types import RunVerdict, TestReport, ToolFinding

REPORTED = (RunVerdict.PASS, RunVerdict.FAIL)


def is_about_findings(report: TestReport) -> bool:
    """Return True if a report comes from a linter or type checker."""
    return report.traits.is_findings and bool(report.failing)


def detailed_findings(report: TestReport) -> tuple[ToolFinding, ...]:
    """Return the detailed findings in files that a fix may edit."""
    return tuple(
        ToolFinding(
            path=one.file,
            line=one.line or 1,
            column=max(0, one.column or 0),
            code=one.error or "",
            message=(one.error_message or "")[:1000],
        )
        for one in report.failures
        if one.file and is_checked_source(one.file) and protected_class(one.file) is None
    )


def tally(report: TestReport) -> Counter[tuple[str, str]]:
    """Count the violations of each rule in each file.

    Counts are stable under edits; line numbers are not.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for name in report.failing:
        path, _, rest = name.partition(":")
        counts[path, rest.rsplit(":", 1)[-1].split("#", 1)[0]] += 1
    return counts


def is_better(before: TestReport, after: TestReport) -> bool:
    """Return True if violations disappeared and none were added, or a later step was reached."""
    if after.verdict not in REPORTED:
        return False
    if after.steps != before.steps:
        return after.steps > before.steps
    if after.runner != before.runner:
        return False
    old, new = tally(before), tally(after)
    return new != old and all(count <= old[key] for key, count in new.items())
