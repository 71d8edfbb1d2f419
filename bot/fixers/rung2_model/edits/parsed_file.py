"""A sent file with lazily computed facts: an answer may edit it many times."""

import ast
from functools import cached_property

from bot.fixers.rung2_model.edits.lines import Text
from bot.fixers.rung2_model.edits.match import Haystack, Span
from bot.fixers.rung2_model.edits.symbols import Symbol, parse_file, symbols
from bot.fixers.rung2_model.edits.values import SentFile
from sandbox.changes.syntax import is_python
from sandbox.languages.outline import Outline
from sandbox.languages.reading import read_outline


class ParsedFile:
    """A file, parsed once.

    Args:
        file: The file as the model saw it.
    """

    def __init__(self, file: SentFile) -> None:
        self.path = file.path
        self.editable = file.editable
        self.regions = file.regions
        self.content = file.text

    @cached_property
    def text(self) -> Text:
        """Return its lines."""
        return Text(self.content)

    @cached_property
    def haystack(self) -> Haystack:
        """Return its lines, prepared for searches."""
        return Haystack(self.text.bodies)

    @cached_property
    def tree(self) -> ast.Module | None:
        """Return its syntax tree; None if it cannot be parsed."""
        return parse_file(self.content)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Return its functions and classes."""
        return () if self.tree is None else tuple(symbols(self.tree))

    @cached_property
    def definitions(self) -> tuple[tuple[str, Span], ...]:
        """Return the name and the lines, from 0, of each definition, in any language."""
        if is_python(self.path):
            return tuple((one.name, (one.first, one.end)) for one in self.symbols)
        return tuple((one.name, (one.first - 1, one.last)) for one in self.outline.definitions)

    @cached_property
    def outline(self) -> Outline:
        """Return its outline if it is not Python; empty if it cannot be parsed."""
        return read_outline(self.path, self.content) or Outline()

    @cached_property
    def shown(self) -> tuple[Span, ...]:
        """Return the shown lines, from 0; adjacent regions are merged."""
        count = len(self.text.bodies)
        if not self.regions:
            return ((0, count),)
        merged: list[Span] = []
        for first, last in sorted(
            (max(first, 1) - 1, min(last, count)) for first, last in self.regions
        ):
            if merged and first <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return tuple(merged)
