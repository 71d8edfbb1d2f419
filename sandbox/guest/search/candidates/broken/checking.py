"""Locate the syntax error of a text, and the smallest region that reproduces it."""

from __future__ import annotations

import ast
from typing import Any, FrozenSet, NamedTuple, Optional, Set

from sandbox.guest.search.candidates.broken.lexing import NEWLINE
from sandbox.guest.search.candidates.broken.model import SyntaxFault
from sandbox.guest.search.candidates.broken.text import SourceText

MAX_NESTING = 80
"""Maximum nesting depth to parse.

On deeper texts a parser may need exponential time or overflow its stack.
"""
REGION_LINES = 160
"""Length from which only a part of a file is parsed, since every draft costs a parse."""
_GOES_ON = ("else", "elif", "except", "finally", "case", ")", "]", "}", '"', "'", "#", "@")


class TooMuchError(Exception):
    """The parser failed for a reason other than a syntax error, or the budget is exhausted."""


class Parser:
    """Parses texts within a budget of characters, so that results do not depend on the machine.

    Args:
        allowance: Maximum number of characters to parse.
    """

    def __init__(self, allowance: int) -> None:
        self.left = allowance
        self.tree: Optional[ast.Module] = None

    def fault(self, text: str, *, whole: bool = True) -> Optional[SyntaxFault]:
        """Return the syntax error of a text, or None if it is valid.

        Args:
            text: Source text.
            whole: Run the compiler too, not only the parser.

        Raises:
            TooMuchError: The parser failed or the budget is exhausted.
        """
        # The constant accounts for the fixed cost of a call.
        self.left -= len(text) + 200
        if self.left < 0:
            raise TooMuchError("parse budget exhausted")
        try:
            tree: Any = compile(text, "<text>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        except SyntaxError as error:
            return _fault(error, in_parser=True)
        except (ValueError, RecursionError, MemoryError, OverflowError, SystemError) as error:
            raise TooMuchError(str(error)) from None
        self.tree = tree
        if not whole:
            return None
        try:
            compile(tree, "<text>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return _fault(error, in_parser=False)
        except (ValueError, RecursionError, MemoryError, OverflowError, SystemError) as error:
            raise TooMuchError(str(error)) from None
        return None


def _fault(error: SyntaxError, *, in_parser: bool) -> SyntaxFault:
    line = max(0, (error.lineno or 1) - 1)
    column = max(0, (error.offset or 1) - 1)
    end_line = getattr(error, "end_lineno", None) or line + 1
    end_column = getattr(error, "end_offset", None) or column + 1
    # The reported end may precede the start.
    if (end_line - 1, end_column - 1) < (line, column):
        end_line, end_column = line + 1, column + 1
    return SyntaxFault(
        line, column, str(error.msg), end_line - 1, max(0, end_column - 1), in_parser
    )


class Region(NamedTuple):
    """A range of lines that parses on its own and contains the error."""

    first: int
    last: int
    """Exclusive."""
    wrapped: bool = False
    """True if the lines are indented and need an `if 1:` header."""

    def holds(self, text: SourceText, start: int, end: int) -> bool:
        """Return True if an edit lies inside the region."""
        return text.starts[self.first] <= start and end <= text.starts[min(self.last, text.count)]

    def of(self, text: str, start: int, length: int) -> str:
        """Return the region's part of a text, ready to be parsed."""
        part = text[start : start + length]
        return "if 1:\n" + part if self.wrapped else part


def region_around(text: SourceText, fault: SyntaxFault, parser: Parser) -> Region:
    """Return the smallest region of whole blocks that shows the same error as the whole text."""
    everything = Region(0, text.count)
    # The compiler's errors depend on the whole file.
    if text.count <= REGION_LINES or not fault.in_parser:
        return everything
    outer = _between(text, fault, 0, everything)
    found = outer
    if outer.last - outer.first > REGION_LINES:
        inner = _between(text, fault, len(text.unit), outer)
        found = inner._replace(wrapped=bool(text.indent(inner.first)))
    for region in (found, outer):
        if _shows(text, region, fault, parser):
            return region
    return everything


def _between(text: SourceText, fault: SyntaxFault, depth: int, within: Region) -> Region:
    """Return a region from a few blocks above the error to a few below it.

    Blocks start at an indentation of at most `depth` columns.
    """
    inside = _inside_strings(text)
    begins = [
        n
        for n in range(within.first, within.last)
        if n not in inside and _begins_block(text, n, depth)
    ]
    above = [n for n in begins if n <= fault.line]
    below = [n for n in begins if n > max(fault.line, fault.end_line)]
    # Some blocks around the error, in case the error began earlier than reported.
    back, ahead = (4, 3) if depth == 0 else (3, 2)
    first = above[-back] if len(above) >= back else within.first
    last = below[ahead - 1] if len(below) >= ahead else within.last
    return Region(first, last)


def _inside_strings(text: SourceText) -> FrozenSet[int]:
    lines: Set[int] = set()
    for token in text.tokens:
        if token.kind != NEWLINE and "\n" in token.text:
            lines.update(range(token.line + 1, token.line + token.text.count("\n") + 1))
    return frozenset(lines)


def _begins_block(text: SourceText, number: int, depth: int) -> bool:
    line = text.line(number)
    stripped = line.lstrip(" \t")
    if not stripped or stripped.startswith(_GOES_ON) or len(line) - len(stripped) > depth:
        return False
    if depth and not stripped.startswith(("def ", "class ", "async def ")):
        return False
    if number and text.line(number - 1).lstrip(" \t").startswith("@"):
        return False
    above = text.before(number)
    # A cut here would leave the block of the previous line without a body.
    return above is None or not text.line(above).split("#")[0].rstrip().endswith(":")


def _shows(text: SourceText, region: Region, fault: SyntaxFault, parser: Parser) -> bool:
    """Return True if the region alone fails at the same place and the text before it parses."""
    start, end = text.starts[region.first], text.starts[min(region.last, text.count)]
    if region.first and not region.wrapped:
        head = parser.fault(text.text[:start], whole=False)
        if head is not None:
            return False
    alone = parser.fault(region.of(text.text, start, end - start), whole=False)
    if alone is None:
        return False
    line = alone.line + region.first - (1 if region.wrapped else 0)
    return line == fault.line and alone.message.split("(")[0] == fault.message.split("(")[0]
