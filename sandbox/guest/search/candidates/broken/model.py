"""What the repair of files that do not parse takes and gives."""

from __future__ import annotations

from typing import NamedTuple, Tuple

from sandbox.guest.search.source.render import Edit


class Broken(NamedTuple):
    """A file that the interpreter refused; its place and message are hints, the file is compiled again."""

    path: str
    line: int = 1
    column: int = 0
    message: str = ""


class TextProposal(NamedTuple):
    """One way to write the file so that it compiles."""

    template: str
    cost: float
    edits: Tuple[Edit, ...]
    """Byte spans of the file."""
    description: str


class Draft(NamedTuple):
    """One edit a kind of mistake suggests, in characters of the text; nobody has parsed it yet."""

    cost: float
    edits: Tuple[Edit, ...]


class Fault(NamedTuple):
    """Where and why this interpreter stops reading a text; line and column count from 0."""

    line: int
    column: int
    message: str
    end_line: int
    end_column: int
    in_parser: bool = True
    """False for what only the compiler refuses, such as `return` outside a function."""
