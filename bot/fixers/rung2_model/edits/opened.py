"""A sent file with what was worked out about it: an answer may name it in many edits."""

import ast
from functools import cached_property

from bot.fixers.rung2_model.edits.lines import Text
from bot.fixers.rung2_model.edits.match import Haystack, Span
from bot.fixers.rung2_model.edits.symbols import Symbol, symbols, tree_of
from bot.fixers.rung2_model.edits.values import SentFile


class Opened:
    """A file, read once.

    Args:
        file: As the model saw it.
    """

    def __init__(self, file: SentFile) -> None:
        self.path = file.path
        self.editable = file.editable
        self.regions = file.regions
        self.content = file.text

    @cached_property
    def text(self) -> Text:
        """Its lines."""
        return Text(self.content)

    @cached_property
    def haystack(self) -> Haystack:
        """Its lines, to be searched."""
        return Haystack(self.text.bodies)

    @cached_property
    def tree(self) -> ast.Module | None:
        """Its syntax tree; None where there is none."""
        return tree_of(self.content)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Its functions and classes."""
        return () if self.tree is None else tuple(symbols(self.tree))

    @cached_property
    def shown(self) -> tuple[Span, ...]:
        """What of it was shown, as lines from 0; pieces that touch are one."""
        count = len(self.text.bodies)
        if not self.regions:
            return ((0, count),)
        merged: list[Span] = []
        for first, last in sorted((max(first, 1) - 1, min(last, count)) for first, last in self.regions):
            if merged and first <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return tuple(merged)
