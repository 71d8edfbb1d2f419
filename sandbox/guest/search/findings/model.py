"""What the mending of findings takes and gives."""

from __future__ import annotations

from typing import NamedTuple, Tuple

from sandbox.guest.search.source.render import Edit


class Finding(NamedTuple):
    """What a linter or type checker says of a place."""

    path: str
    line: int
    """From 1."""
    column: int
    """From 1; 0 when it is not known."""
    code: str
    message: str


class Draft(NamedTuple):
    """Edits, in bytes of the file, that a kind of finding suggests."""

    cost: float
    edits: Tuple[Edit, ...]
