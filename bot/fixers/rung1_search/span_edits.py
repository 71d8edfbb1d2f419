"""Convert proposed changes of whole files to line edits that the search can try."""

from collections.abc import Mapping, Sequence
from math import log2

from bot.fixers.trials import Proposed
from sandbox.diffs import line_changes
from sandbox.languages import is_source
from sandbox.types import FileEdit, GivenChange, SpanEdit

COST, PER_LINE, PER_VOTE = 0.8, 0.04, 0.3
"""Base cost of a proposed change, cost per changed line, and discount for each doubling of votes.

Of two changes that behave alike, the smaller one is shown first.
"""
MOST_LINES = 40
MOST_EDITS = 20
"""Maximum number of edits in one file. More become one edit from the first to the last."""


def convert_change(
    proposed: Proposed, edits: Sequence[FileEdit], originals: Mapping[str, bytes | None]
) -> GivenChange | None:
    """Convert a proposed change for the search.

    Return None if it adds or deletes files, or edits anything but UTF-8 Python.

    Args:
        proposed: The change and its votes.
        edits: New contents of its files.
        originals: Old contents by path.
    """
    spans: list[SpanEdit] = []
    lines = 0
    for edit in edits:
        texts = _texts(edit, originals.get(edit.path))
        if texts is None:
            return None
        changes = line_edits(edit.path, *texts)
        lines += sum(
            max(one.text.count("\n"), texts[0][one.start : one.end].count("\n")) for one in changes
        )
        spans += changes
    cost = COST + PER_LINE * min(lines, MOST_LINES) - PER_VOTE * log2(max(1, proposed.votes))
    return (
        GivenChange(edits=tuple(spans), description=proposed.title[:200], cost=max(0.0, cost))
        if spans
        else None
    )


def line_edits(path: str, old: str, new: str) -> tuple[SpanEdit, ...]:
    """Return the whole-line edits that turn one text into another.

    Args:
        path: Path of the file.
        old: Text before.
        new: Text after.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    changes = line_changes(before, after)
    if len(changes) > MOST_EDITS:
        changes = [(changes[0][0], changes[-1][1], changes[0][2], changes[-1][3])]
    # Spans count bytes, not characters.
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line.encode()))
    return tuple(
        SpanEdit(path=path, start=starts[first], end=starts[last], text="".join(after[low:high]))
        for first, last, low, high in changes
    )


def _texts(edit: FileEdit, original: bytes | None) -> tuple[str, str] | None:
    """Return a Python file's text before and after; None if it is not plain Python."""
    if original is None or edit.mode == "deleted" or not is_source(edit.path):
        return None
    try:
        return original.decode(), edit.content.decode()
    except UnicodeDecodeError:
        return None
