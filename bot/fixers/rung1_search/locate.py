"""Compute suspect lines from the red diff, the tracebacks and the diagnosis.

The sources are listed by weight. Lines reached by a change, and functions that contain it, are
found inside the sandbox, which may read the source.
"""

from collections.abc import Iterable, Mapping

from bot.domain.diagnosis import Diagnosis
from sandbox.changes import is_protected, is_safe_path
from sandbox.languages import is_source
from sandbox.types import RedHunk, SourceDiff, SuspectLine, TestResult

MAX_SUSPECTS = 400
MAX_CHANGED = 300
"""Maximum number of changed lines among them: a large diff must not hide the traceback."""
CHANGED = 0.9
"""Suspiciousness of a line changed since the last green commit."""
CHANGED_REASON = "changed since the check was green"
"""The search recognizes changed lines by this reason."""
DEEPEST_FRAME = 0.8
OUTER_FRAME = 0.5
"""Suspiciousness of outer frames, divided by their distance from the deepest frame."""
MAX_HUNKS = 80


def suspect_lines(
    diagnosis: Diagnosis, failures: Iterable[TestResult], red_diff: SourceDiff
) -> tuple[SuspectLine, ...]:
    """Return suspect lines, most suspicious first.

    Args:
        diagnosis: Known suspects and failures.
        failures: The failing tests.
        red_diff: Changes since the check was green.
    """
    found: dict[tuple[str, int], tuple[float, str]] = {}

    def note(file: str, line: int, score: float, reason: str) -> None:
        known = found.get((file, line), (0.0, reason))
        # Treat reasons as independent probabilities (noisy or); no single one is certain.
        joined = 1.0 - (1.0 - known[0]) * (1.0 - score)
        found[file, line] = (min(joined, 1.0), reason if score > known[0] else known[1])

    for file, line in _changed(red_diff):
        note(file, line, CHANGED, CHANGED_REASON)
    for failure in failures:
        for (file, line), score in _frames(failure).items():
            note(file, line, score, f"in the traceback of {failure.name}")
    for suspect in diagnosis.suspects:
        note(suspect.file, suspect.line, suspect.score, suspect.reason)
    sources = {place: entry for place, entry in found.items() if _may_edit(place[0])}
    ranked = sorted(sources.items(), key=lambda item: (-item[1][0], item[0]))[:MAX_SUSPECTS]
    return tuple(
        SuspectLine(file=file, line=line, score=round(score, 4), reason=reason)
        for (file, line), (score, reason) in ranked
        if line >= 1
    )


def red_hunks(red_diff: SourceDiff) -> tuple[RedHunk, ...]:
    """Return hunks that the search may revert.

    Hunks of test files come without their text; they show which tests are new.

    Args:
        red_diff: Changes since the check was green.
    """
    safe = [hunk for hunk in red_diff.hunks if is_safe_path(hunk.path) and is_source(hunk.path)]
    return tuple(hunk if _may_edit(hunk.path) else hunk.with_(before="") for hunk in safe)[
        :MAX_HUNKS
    ]


def _changed(red_diff: SourceDiff) -> list[tuple[str, int]]:
    """Return changed lines of source files, with an equal share for each file."""
    sources = sorted((file, lines) for file, lines in red_diff.files.items() if _may_edit(file))
    share = max(1, MAX_CHANGED // max(1, len(sources)))
    return [(file, line) for file, lines in sources for line in lines[:share]][:MAX_CHANGED]


def _may_edit(path: str) -> bool:
    """Return True if the search may edit the file."""
    return is_source(path) and is_safe_path(path) and not is_protected(path)


def _frames(failure: TestResult) -> Mapping[tuple[str, int], float]:
    """Return the score of each traceback line in source files; recursion counts a line once."""
    frames = list(failure.frames)
    if not frames and failure.file and failure.line:
        frames = [(failure.file, failure.line, "")]
    # Frames are listed outermost first.
    inside = [(file, line) for file, line, _ in reversed(frames) if _may_edit(file)]
    scores: dict[tuple[str, int], float] = {}
    for depth, (file, line) in enumerate(inside):
        score = DEEPEST_FRAME if depth == 0 else OUTER_FRAME / depth
        scores[file, line] = max(score, scores.get((file, line), 0.0))
    return scores
