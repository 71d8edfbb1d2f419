"""Data types of the repair of files that do not parse."""

from __future__ import annotations

from typing import NamedTuple, Tuple

from sandbox.guest.search.source.render import TextEdit


class Broken(NamedTuple):
    """A file that the interpreter rejected.

    Position and message are hints only; the file is compiled again.
    """

    path: str
    line: int = 1
    column: int = 0
    message: str = ""


class TextProposal(NamedTuple):
    """A repair of the file that compiles."""

    template: str
    cost: float
    edits: Tuple[TextEdit, ...]
    """Edits in byte offsets."""
    description: str
    doubt: str = ""
    """The reason why a person has to confirm it, as in `EditDoubt`, or empty."""


class Draft(NamedTuple):
    """An edit suggested for one kind of error, in character offsets, not parsed yet."""

    cost: float
    edits: Tuple[TextEdit, ...]


class SyntaxFault(NamedTuple):
    """A syntax error of this interpreter; line and column count from 0."""

    line: int
    column: int
    message: str
    end_line: int
    end_column: int
    in_parser: bool = True
    """False for errors of the compiler alone, such as `return` outside a function."""
