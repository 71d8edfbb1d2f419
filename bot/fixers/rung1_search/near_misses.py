"""Near misses and suspects of a search, for the rungs above it."""

from collections.abc import Collection, Mapping, Sequence

from bot.domain.diagnosis import Suspect
from bot.domain.patch import NearMiss
from bot.fixers.rung1_search.changes import edited_files
from sandbox.changes import is_safe_path
from sandbox.changes.proposed import one_line
from sandbox.diffs import Original, write_diff
from sandbox.types import FileChange, FileEdit, TrialStarted
from sandbox.types import SearchNearMiss as ReportedNearMiss

MOST = 5
MOST_DIFF = 4000
"""Maximum length of one diff, in characters."""
MOST_SUSPECTS = 20


def near_misses(
    reported: Sequence[ReportedNearMiss], failing: Collection[str], originals: Mapping[str, str]
) -> tuple[NearMiss, ...]:
    """Return edits that fixed some failing tests, those that fixed most first.

    Args:
        reported: Near misses reported by the sandbox.
        failing: The failing tests.
        originals: Text of each edited file before by path, read by the host.
    """
    useful = [
        (miss, mended)
        for miss in reported
        if (mended := tuple(sorted(set(miss.fixed) & set(failing))))
    ]
    found = []
    for miss, mended in sorted(useful, key=lambda pair: -len(pair[1])):
        changes = edited_files(miss.edits, originals)
        if changes is not None:
            found.append(
                NearMiss(
                    path=miss.path,
                    line=miss.line,
                    description=miss.description or miss.template,
                    diff=diff_changes(changes, originals)[:MOST_DIFF],
                    mended=mended,
                    changes=changes,
                )
            )
    return tuple(found[:MOST])


def diff_changes(changes: Sequence[FileChange], originals: Mapping[str, str]) -> str:
    """Return changes of whole files as a unified diff.

    Args:
        changes: Files with their new content.
        originals: Text before, by path.
    """
    edits = [
        FileEdit(path=one.path, mode="100644", content=(one.content or "").encode())
        for one in changes
    ]
    return write_diff(
        edits, {path: Original(content=text.encode()) for path, text in originals.items()}
    )


def reported_suspects(started: TrialStarted | None) -> tuple[Suspect, ...]:
    """Return the lines that a search found most suspicious.

    Args:
        started: The search's first event. Its lines are untrusted and used only as hints.
    """
    lines = started.suspect_lines if started else ()
    return tuple(
        Suspect(file=one.file, line=one.line, score=one.score, reason=one_line(one.reason, 200))
        for one in lines[:MOST_SUSPECTS]
        if is_safe_path(one.file)
    )
