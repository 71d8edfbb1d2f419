"""Which lines are suspect before anything is traced: the diff that turned the check red, frames, the diagnosis."""

from collections.abc import Iterable, Mapping

from bot.domain.diagnosis import Diagnosis
from sandbox.types import SourceDiff, SuspectLine, TestResult

MAX_SUSPECTS = 400
CHANGED = 0.9
"""A line that was changed since the last green commit."""
DEEPEST_FRAME = 0.8
OUTER_FRAME = 0.5
"""Each frame further out counts a little less than this."""


def suspect_lines(
    diagnosis: Diagnosis, failures: Iterable[TestResult], red_diff: SourceDiff
) -> tuple[SuspectLine, ...]:
    """Lines to look at first, the most suspect one in front."""
    found: dict[tuple[str, int], tuple[float, str]] = {}

    def note(file: str, line: int, score: float, reason: str) -> None:
        known = found.get((file, line), (0.0, reason))
        # Independent reasons add up; no single one is certain.
        joined = 1.0 - (1.0 - known[0]) * (1.0 - score)
        found[file, line] = (min(joined, 1.0), reason if score > known[0] else known[1])

    for file, lines in red_diff.files.items():
        for line in lines:
            note(file, line, CHANGED, "changed since the check was green")
    for failure in failures:
        for (file, line), score in _frames(failure).items():
            note(file, line, score, f"in the traceback of {failure.name}")
    for suspect in diagnosis.suspects:
        note(suspect.file, suspect.line, suspect.score, suspect.reason)
    ranked = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))[:MAX_SUSPECTS]
    return tuple(
        SuspectLine(file=file, line=line, score=round(score, 4), reason=reason)
        for (file, line), (score, reason) in ranked
        if line >= 1
    )


def _frames(failure: TestResult) -> Mapping[tuple[str, int], float]:
    """Scores of a traceback's frames; once per line, however deep the recursion was."""
    frames = list(failure.frames)
    if not frames and failure.file and failure.line:
        frames = [(failure.file, failure.line, "")]
    scores: dict[tuple[str, int], float] = {}
    for depth, (file, line, _) in enumerate(reversed(frames)):
        score = DEEPEST_FRAME if depth == 0 else OUTER_FRAME / depth
        scores[file, line] = max(score, scores.get((file, line), 0.0))
    return scores
