"""Input and output of the fixes for findings."""

from __future__ import annotations

from typing import NamedTuple, Tuple

from sandbox.guest.search.source.render import TextEdit


class SourceFinding(NamedTuple):
    """A report of a linter or type checker about one place."""

    path: str
    line: int
    """Starts at 1."""
    column: int
    """Starts at 1; 0 if unknown."""
    code: str
    message: str


class FixDraft(NamedTuple):
    """Edits, in bytes of the file, that a kind of finding suggests."""

    cost: float
    edits: Tuple[TextEdit, ...]
