"""ANALYZE: from failures, source context and lessons to a diagnosis."""

import hashlib
import json
import re

from bot.domain.diagnosis import Diagnosis, FailureKind, Suspect
from bot.domain.lesson import RecalledLesson
from bot.mission.failures.sentences import lint_sentence, one_line, sentence
from bot.mission.failures.suspects import (
    from_calls,
    from_frames,
    from_lessons,
    from_red_diff,
    locate_failure,
    merged,
    read_contexts,
)
from bot.ports import Workspace
from sandbox.changes import is_protected
from sandbox.languages import is_read_source, is_source
from sandbox.types import SourceDiff, TestReport, TestResult

_LINT_CONFIDENCE = 0.9
# Confidence of a diagnosis: the start, and what each sign adds.
_START = 0.4
_NAMED_ERROR = 0.2
_LOCATED = 0.2
_STRONG_SUSPECT = 0.1
_CHANGED_TOO = 0.05
_KNOWN = 0.05
_AROUND = (6, 15, 30)
"""Lines of context for each analysis pass."""
_STRONG = 0.8
"""Score of a suspect that a traceback or a call leads to."""
_FINGERPRINT = 16
"""Length of a fingerprint, in hexadecimal characters."""


async def analyze_failures(
    report: TestReport,
    workspace: Workspace,
    *,
    kind: FailureKind,
    red_diff: SourceDiff,
    lessons: tuple[RecalledLesson, ...] = (),
    passes: int = 1,
) -> Diagnosis:
    """Return what is broken, where, and the reasons for that.

    It reads tracebacks, error classes, names in the test and the lines of the commit.

    Args:
        report: The red run.
        workspace: Workspace with the tree that was run.
        kind: The kind of failure that triage measured.
        red_diff: Lines that may have turned the check red.
        lessons: Lessons of earlier missions about this failure.
        passes: Number of the pass; later passes read more context.
    """
    around = _AROUND[min(passes, len(_AROUND)) - 1]
    if kind is FailureKind.LINT:
        suspects = merged(
            Suspect(file=f.file, line=max(1, f.line or 1), score=1.0, reason=f.error or "finding")
            for f in report.failures
            if f.file
        )
    else:
        called = await from_calls(report.failures, workspace, wide=passes > 1)
        fixed = await from_lessons(lessons, workspace)
        searched = report.knows_tests and bool(report.traits.searched_by)
        frames = from_frames(report.failures)
        changed = from_red_diff(red_diff, is_source if searched else is_read_source)
        suspects = merged((*frames, *called, *changed, *fixed))
    contexts = await read_contexts(report.failures, suspects, workspace, around=around)
    confidence, reasoning = _confidence(report, suspects, lessons, kind=kind, red_diff=red_diff)
    return Diagnosis(
        kind=kind,
        title=_title(report, suspects, kind),
        cause=_cause(report, suspects, kind),
        failures=report.failures,
        suspects=suspects,
        contexts=contexts,
        confidence=confidence,
        reasoning=reasoning,
        fingerprint=fingerprint(report),
        lessons=tuple(recalled.lesson.sentence for recalled in lessons),
    )


def fingerprint(report: TestReport) -> str:
    """Return a key of a failure.

    It is independent of commit, repository, machine and numbers in messages.

    Args:
        report: A red run.

    Returns:
        16 hexadecimal characters.
    """
    shown = {f.name: f for f in report.failures}
    parts = []
    for name in sorted(report.failing | shown.keys()):
        failure = shown.get(name)
        if report.traits.is_findings:
            # `path:line:rule` without the line, which moves with every edit.
            path, _, rest = name.partition(":")
            parts.append([path, rest.rpartition(":")[2]])
        elif failure is None:
            parts.append([name])
        else:
            parts.append(
                [
                    name,
                    failure.error or "",
                    normalised(failure.error_message or ""),
                    _deepest(failure),
                ]
            )
    if not parts:
        parts.append([report.verdict.value, normalised(report.summary)])
    # JSON keeps the parts apart, even if a message contains a separator.
    unique = sorted({json.dumps(part, ensure_ascii=True) for part in parts})
    return hashlib.sha256("\n".join(unique).encode()).hexdigest()[:_FINGERPRINT]


def normalised(message: str) -> str:
    """Return a message without addresses, paths and numbers.

    Args:
        message: An error message.
    """
    text = "\n".join(message.splitlines()[:3])[:300]
    # Addresses before numbers, whose pattern would split them.
    text = re.sub(r"0x[0-9a-fA-F]+", "<address>", text)
    text = re.sub(r"(?:[A-Za-z]:)?(?:[\w.~-]*[/\\])+[\w.-]*", "<path>", text)
    text = re.sub(r"\d+(?:\.\d+)?", "#", text)
    return re.sub(r"\s+", " ", text).strip()


def _deepest(failure: TestResult) -> str:
    """Return the function of the deepest frame outside the tests."""
    return next(
        (function for file, _, function in reversed(failure.frames) if not is_protected(file)), ""
    )


def _title(report: TestReport, suspects: tuple[Suspect, ...], kind: FailureKind) -> str:
    """Return one line: the first failure and the number of others."""
    if not report.failures:
        return one_line(f"{report.target}: {report.summary}")
    first = report.failures[0]
    said = (
        lint_sentence(first)
        if kind is FailureKind.LINT
        else sentence(first, locate_failure(first, suspects))
    )
    more = report.failure_count - 1
    return f"{said} (and {more} more)" if more > 0 else said


def _cause(report: TestReport, suspects: tuple[Suspect, ...], kind: FailureKind) -> str:
    """Return a paragraph on the failure and the first place to look."""
    say = (
        lint_sentence
        if kind is FailureKind.LINT
        else lambda f: sentence(f, locate_failure(f, suspects))
    )
    failing = "; ".join(dict.fromkeys(say(f) for f in report.failures[:3]))
    more = report.failure_count - min(3, len(report.failures))
    sentences = [
        f"{failing or one_line(report.summary)}{f'; and {more} more' if more > 0 else ''}."
    ]
    if suspects and kind is not FailureKind.LINT:
        best = suspects[0]
        sentences.append(
            f"The first place to look is {one_line(best.file)} line {best.line}: "
            f"{one_line(best.reason)}."
        )
    return " ".join(sentences)


def _confidence(
    report: TestReport,
    suspects: tuple[Suspect, ...],
    lessons: tuple[RecalledLesson, ...],
    *,
    kind: FailureKind,
    red_diff: SourceDiff,
) -> tuple[float, str]:
    """Return the confidence as a number, and the reasons in words."""
    if kind is FailureKind.LINT:
        return _LINT_CONFIDENCE, "a linter names file, line and rule"
    changed = any(s.line in red_diff.files.get(s.file, ()) for s in suspects)
    known = any(recalled.reason == "same fingerprint" for recalled in lessons)
    signs = (
        (
            bool(report.failures) and all(f.error for f in report.failures),
            _NAMED_ERROR,
            "every failure names its error",
        ),
        (bool(suspects), _LOCATED, "there are suspect lines"),
        (
            any(s.score >= _STRONG for s in suspects),
            _STRONG_SUSPECT,
            "a traceback or a call leads to one of them",
        ),
        (changed, _CHANGED_TOO, "the commit changed one of them"),
        (known, _KNOWN, "the same failure was seen before"),
        (not suspects, 0.0, "no line of the source is under suspicion"),
    )
    total = _START + sum(weight for applies, weight, _ in signs if applies)
    return round(min(1.0, max(0.0, total)), 9), "; ".join(
        words for applies, _, words in signs if applies
    )
