"""ANALYZE: from failures, source context and lessons to a diagnosis."""

import hashlib
import json
import re

from bot.domain.diagnosis import Diagnosis, FailureKind, Suspect
from bot.domain.lesson import RecalledLesson
from bot.mission.sentences import lint_sentence, one_line, sentence
from bot.mission.suspects import contexts_of, from_calls, from_frames, from_red_diff, merged, place_of
from bot.ports import Workspace
from sandbox.changes import is_protected
from sandbox.types import SourceDiff, TestReport, TestResult

_LINT_CONFIDENCE = 0.9
_START = 0.4
_NAMED_ERROR = 0.2
_LOCATED = 0.2
_STRONG_SUSPECT = 0.1
_CHANGED_TOO = 0.05
_KNOWN = 0.05
_AROUND = (6, 15, 30)
"""Lines of context on each pass of thinking."""
_STRONG = 0.8
_FINGERPRINT = 16


async def analyze_failures(
    report: TestReport,
    workspace: Workspace,
    *,
    kind: FailureKind,
    red_diff: SourceDiff,
    lessons: tuple[RecalledLesson, ...] = (),
    passes: int = 1,
) -> Diagnosis:
    """Say what is broken, where, and why we think so.

    Args:
        report: The red run.
        workspace: On the tree that was run.
        kind: What triage found.
        red_diff: The lines that may have turned the check red.
        lessons: What earlier missions learned about this failure.
        passes: How often it was thought about: later passes look wider.
    """
    return await _analyze_by_rules(report, workspace, kind=kind, red_diff=red_diff, lessons=lessons, passes=passes)


async def _analyze_by_rules(
    report: TestReport,
    workspace: Workspace,
    *,
    kind: FailureKind,
    red_diff: SourceDiff,
    lessons: tuple[RecalledLesson, ...],
    passes: int,
) -> Diagnosis:
    """Tracebacks, error classes, the names in the test and the lines of the commit."""
    around = _AROUND[min(passes, len(_AROUND)) - 1]
    if kind is FailureKind.LINT:
        suspects = merged(
            Suspect(file=f.file, line=max(1, f.line or 1), score=1.0, reason=f.error or "finding")
            for f in report.failures
            if f.file
        )
    else:
        called = await from_calls(report.failures, workspace, wide=passes > 1)
        suspects = merged((*from_frames(report.failures), *called, *from_red_diff(red_diff)))
    contexts = await contexts_of(report.failures, suspects, workspace, around=around)
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
    """Name a failure, whatever the commit, the repository, the machine or the numbers in its message.

    Args:
        report: A red run.

    Returns:
        16 hexadecimal characters.
    """
    shown = {f.name: f for f in report.failures}
    parts = []
    for name in sorted(report.failing | shown.keys()):
        failure = shown.get(name)
        if report.runner == "diagnostics":
            path, _, rest = name.partition(":")
            parts.append([path, rest.rpartition(":")[2]])
        elif failure is None:
            parts.append([name])
        else:
            parts.append([name, failure.error or "", normalised(failure.error_message or ""), _deepest(failure)])
    if not parts:
        parts.append([report.verdict.value, normalised(report.summary)])
    unique = sorted({json.dumps(part, ensure_ascii=True) for part in parts})
    return hashlib.sha256("\n".join(unique).encode()).hexdigest()[:_FINGERPRINT]


def normalised(message: str) -> str:
    """A message without addresses, paths and numbers.

    Args:
        message: An error message.
    """
    text = "\n".join(message.splitlines()[:3])[:300]
    text = re.sub(r"0x[0-9a-fA-F]+", "<address>", text)
    text = re.sub(r"(?:[A-Za-z]:)?(?:[\w.~-]*[/\\])+[\w.-]*", "<path>", text)
    text = re.sub(r"\d+(?:\.\d+)?", "#", text)
    return re.sub(r"\s+", " ", text).strip()


def _deepest(failure: TestResult) -> str:
    """The function of the deepest frame outside the tests."""
    return next((function for file, _, function in reversed(failure.frames) if not is_protected(file)), "")


def _title(report: TestReport, suspects: tuple[Suspect, ...], kind: FailureKind) -> str:
    """One line: the first failure, and how many more there are."""
    if not report.failures:
        return one_line(f"{report.target}: {report.summary}")
    first = report.failures[0]
    said = lint_sentence(first) if kind is FailureKind.LINT else sentence(first, place_of(first, suspects))
    more = report.failure_count - 1
    return f"{said} (and {more} more)" if more > 0 else said


def _cause(report: TestReport, suspects: tuple[Suspect, ...], kind: FailureKind) -> str:
    """A paragraph: what fails, and where to look."""
    say = lint_sentence if kind is FailureKind.LINT else lambda f: sentence(f, place_of(f, suspects))
    failing = "; ".join(dict.fromkeys(say(f) for f in report.failures[:3]))
    more = report.failure_count - min(3, len(report.failures))
    sentences = [f"{failing or one_line(report.summary)}{f'; and {more} more' if more > 0 else ''}."]
    if suspects and kind is not FailureKind.LINT:
        best = suspects[0]
        sentences.append(f"The first place to look is {one_line(best.file)} line {best.line}: {one_line(best.reason)}.")
    return " ".join(sentences)


def _confidence(
    report: TestReport,
    suspects: tuple[Suspect, ...],
    lessons: tuple[RecalledLesson, ...],
    *,
    kind: FailureKind,
    red_diff: SourceDiff,
) -> tuple[float, str]:
    """How much is known, as a number and in words."""
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
        (any(s.score >= _STRONG for s in suspects), _STRONG_SUSPECT, "a traceback or a call leads to one of them"),
        (changed, _CHANGED_TOO, "the commit changed one of them"),
        (known, _KNOWN, "the same failure was seen before"),
        (not suspects, 0.0, "no line of the source is under suspicion"),
    )
    total = _START + sum(weight for applies, weight, _ in signs if applies)
    return round(min(1.0, max(0.0, total)), 9), "; ".join(words for applies, _, words in signs if applies)
