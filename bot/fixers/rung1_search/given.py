"""Changes of any origin as the search can try them: whole files become edits of lines."""

from collections.abc import Mapping, Sequence
from math import log2

from bot.fixers.trials import Proposed
from sandbox.diffs import line_changes
from sandbox.types import FileEdit, GivenChange, SpanEdit

COST, PER_LINE, PER_VOTE = 0.8, 0.04, 0.3
"""What speaks against a given change from the start, for each line of it, and taken off for each doubling of its votes:
of two that behave alike the smaller one is shown first."""
MOST_LINES = 40
MOST_EDITS = 20
"""Of one file; what changes in more places is one edit from the first to the last of them."""


def given_change(
    proposed: Proposed, edits: Sequence[FileEdit], originals: Mapping[str, bytes | None]
) -> GivenChange | None:
    """A change as the search can try it; None where files come or go, or are no plain Python.

    Args:
        proposed: Somebody's.
        edits: What its files are to be.
        originals: What they are, by path.
    """
    spans: list[SpanEdit] = []
    lines = 0
    for edit in edits:
        texts = _texts(edit, originals.get(edit.path))
        if texts is None:
            return None
        changes = line_edits(edit.path, *texts)
        lines += sum(max(one.text.count("\n"), texts[0][one.start : one.end].count("\n")) for one in changes)
        spans += changes
    cost = COST + PER_LINE * min(lines, MOST_LINES) - PER_VOTE * log2(max(1, proposed.votes))
    return GivenChange(edits=tuple(spans), description=proposed.title[:200], cost=max(0.0, cost)) if spans else None


def line_edits(path: str, old: str, new: str) -> tuple[SpanEdit, ...]:
    """The edits of whole lines that make one text of another.

    Args:
        path: Of the file.
        old: Its text.
        new: Its text afterwards.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    changes = line_changes(before, after)
    if len(changes) > MOST_EDITS:
        changes = [(changes[0][0], changes[-1][1], changes[0][2], changes[-1][3])]
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line.encode()))
    return tuple(
        SpanEdit(path=path, start=starts[first], end=starts[last], text="".join(after[low:high]))
        for first, last, low, high in changes
    )


def _texts(edit: FileEdit, original: bytes | None) -> tuple[str, str] | None:
    """A Python file before and after."""
    if original is None or edit.mode == "deleted" or not edit.path.endswith(".py"):
        return None
    try:
        return original.decode(), edit.content.decode()
    except UnicodeDecodeError:
        return None
