"""What a search came close to and where it looked, for the rungs above it."""

from collections.abc import Collection, Mapping, Sequence

from bot.domain.diagnosis import Suspect
from bot.domain.patch import NearMiss
from bot.fixers.rung1_search.changes import changes_of
from sandbox.changes import is_safe_path
from sandbox.changes.proposed import one_line
from sandbox.diffs import Original, write_diff
from sandbox.types import FileChange, FileEdit, TrialStarted
from sandbox.types import NearMiss as Told

MOST = 5
MOST_DIFF = 4000
"""Characters of one diff."""
MOST_SUSPECTS = 20


def near_misses(told: Sequence[Told], failing: Collection[str], originals: Mapping[str, str]) -> tuple[NearMiss, ...]:
    """Edits that turned some failing tests green, those that turned most in front.

    Args:
        told: By the sandbox.
        failing: The failing tests.
        originals: Path to the text of each edited file before, as the host has read it.
    """
    useful = [(miss, mended) for miss in told if (mended := tuple(sorted(set(miss.fixed) & set(failing))))]
    found = []
    for miss, mended in sorted(useful, key=lambda pair: -len(pair[1])):
        changes = changes_of(miss.edits, originals)
        if changes is not None:
            found.append(
                NearMiss(
                    path=miss.path,
                    line=miss.line,
                    description=miss.description or miss.template,
                    diff=diff_of(changes, originals)[:MOST_DIFF],
                    mended=mended,
                    changes=changes,
                )
            )
    return tuple(found[:MOST])


def diff_of(changes: Sequence[FileChange], originals: Mapping[str, str]) -> str:
    """Changes of whole files as a unified diff.

    Args:
        changes: With their new content.
        originals: Path to the text before.
    """
    edits = [FileEdit(path=one.path, mode="100644", content=(one.content or "").encode()) for one in changes]
    return write_diff(edits, {path: Original(content=text.encode()) for path, text in originals.items()})


def suspects_of(started: TrialStarted | None) -> tuple[Suspect, ...]:
    """The lines that a search suspected most.

    Args:
        started: What it told when it began; it is taken by its word, and only for where to look.
    """
    lines = started.suspect_lines if started else ()
    return tuple(
        Suspect(file=one.file, line=one.line, score=one.score, reason=one_line(one.reason, 200))
        for one in lines[:MOST_SUSPECTS]
        if is_safe_path(one.file)
    )
