"""Suggest what a person should look at first if no fix was found. Pure."""

import builtins
import re

from bot.domain.counted import counted
from bot.domain.mission import MissionContext
from sandbox.changes.protected import PathClass, protected_class
from sandbox.types import SourceDiff, TestReport, TestResult

_NO_NAME = re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'")
_NO_ATTRIBUTE = re.compile(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'")
_NO_MEMBER = re.compile(
    r"(?:'(?P<instance>\w+)' object|type object '(?P<type>\w+)') has no attribute '(?P<name>\w+)'"
)
_BUILT_IN = frozenset({*dir(builtins), "NoneType", "function", "method", "generator", "coroutine"})
_ENOUGH = 3
"""Number of other passing tests needed to doubt a lone failing test without a history."""
_PLACES = 3
_FEATURE = "that is a feature to write, not a bug to repair"


def look_at(context: MissionContext) -> str:
    """Return the place a person should look at first; empty if unknown.

    Args:
        context: A mission that found no fix.
    """
    report = context.test_results
    if report is None or not report.failing:
        return ""
    diff = context.facts.red_diff if context.facts else SourceDiff()
    sentences = (question_tests(report, diff), _busiest(context))
    return ". ".join(sentence for sentence in sentences if sentence)


def question_tests(report: TestReport, diff: SourceDiff) -> str:
    """Return why the failing tests, and not the code, may be at fault; empty if nothing says so.

    Args:
        report: The red run.
        diff: The change that turned it red.
    """
    return _missing_name(report) or _doubtful_test(report, diff)


def _missing_name(report: TestReport) -> str:
    """Return the name that the failing tests need and the code does not have."""
    for failure in report.failures:
        text = f"{failure.error_message or ''}\n{failure.traceback or ''}"
        found = _NO_NAME.search(text) or _NO_ATTRIBUTE.search(text)
        if found:
            return f"`{found['module']}` has no `{found['name']}`, which the tests use: {_FEATURE}"
        if member := _missing_member(failure):
            return f"{member}, which the tests use: {_FEATURE}"
    return ""


def _missing_member(failure: TestResult) -> str:
    """Return the member of a class that a test itself asks for, and the class does not have.

    Where product code asks for it, or a value of a built-in type is asked, it is a bug.
    """
    found = _NO_MEMBER.search(failure.error_message or "")
    if not found or protected_class(failure.file or "") is not PathClass.TESTS:
        return ""
    owner = found["instance"] or found["type"]
    return "" if owner in _BUILT_IN else f"`{owner}` has no `{found['name']}`"


def _doubtful_test(report: TestReport, diff: SourceDiff) -> str:
    """Return the failing tests that may be wrong, because the other tests agree with the code."""
    files = {name.partition("::")[0] for name in report.failing}
    changed = {path for path in diff.files if protected_class(path) is PathClass.TESTS}
    sources = {path for path in diff.files if protected_class(path) is None}
    others = len(report.passing)
    named = ", ".join(f"`{name}`" for name in sorted(report.failing)[:_PLACES])
    confirmed = f"{others} other {'test confirms' if others == 1 else 'tests confirm'}"
    # Only tests changed, so the code still does what the other tests confirm.
    if files <= changed and not sources and others:
        return (
            f"Only tests that were changed disagree with code that {confirmed} ({named}): they may "
            "be wrong"
        )
    if len(report.failing) == 1 and others >= _ENOUGH:
        return f"Only {named} disagrees with code that {confirmed}: the test itself may be wrong"
    return ""


def _busiest(context: MissionContext) -> str:
    """Return the places where the search tried most, and the change that came closest."""
    attempts = [iteration.attempt for iteration in context.iterations if iteration.attempt]
    near = [miss for attempt in attempts for miss in attempt.near]
    suspects = next((attempt.suspects for attempt in reversed(attempts) if attempt.suspects), ())
    places = ", ".join(
        dict.fromkeys(f"{suspect.file} line {suspect.line}" for suspect in suspects[:_PLACES])
    )
    sentences = [f"The search was busiest at {places}"] if places else []
    if near:
        best = max(near, key=lambda miss: len(miss.mended))
        failing = len(context.test_results.failing) if context.test_results else 0
        part = f"{len(best.mended)} of {counted(failing, 'failing test')}"
        sentences.append(f"{best.description} at {best.path} line {best.line} repairs {part}")
    return ". ".join(sentences)
