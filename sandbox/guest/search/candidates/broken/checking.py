"""Where this interpreter stops reading a text, and the part of a file that is enough to ask it."""

from __future__ import annotations

import ast
from typing import Any, FrozenSet, NamedTuple, Optional, Set

from sandbox.guest.search.candidates.broken.lexing import NEWLINE
from sandbox.guest.search.candidates.broken.model import Fault
from sandbox.guest.search.candidates.broken.text import Text

MAX_NESTING = 80
"""Deeper texts are not parsed: a parser may need exponential time or overflow its stack."""
REGION_LINES = 160
_GOES_ON = ("else", "elif", "except", "finally", "case", ")", "]", "}", '"', "'", "#", "@")


class TooMuchError(Exception):
    """A parser gave up for another reason than what the text says, or the work allowed is done."""


class Parser:
    """Parses texts and counts the characters, so that the work is bounded alike on every machine.

    Args:
        allowance: How many characters may be parsed in all.
    """

    def __init__(self, allowance: int) -> None:
        self.left = allowance
        self.tree: Optional[ast.Module] = None

    def fault(self, text: str, *, whole: bool = True) -> Optional[Fault]:
        """Where the text is refused; None when it is not.

        Args:
            text: What to read.
            whole: Ask the compiler too, and not the parser alone.

        Raises:
            TooMuchError: it cannot be said.
        """
        self.left -= len(text) + 200
        if self.left < 0:
            raise TooMuchError("the work allowed is done")
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


def _fault(error: SyntaxError, *, in_parser: bool) -> Fault:
    line = max(0, (error.lineno or 1) - 1)
    column = max(0, (error.offset or 1) - 1)
    end_line = getattr(error, "end_lineno", None) or line + 1
    end_column = getattr(error, "end_offset", None) or column + 1
    if (end_line - 1, end_column - 1) < (line, column):
        end_line, end_column = line + 1, column + 1
    return Fault(line, column, str(error.msg), end_line - 1, max(0, end_column - 1), in_parser)


class Region(NamedTuple):
    """Lines of a text that can be parsed by themselves and hold the fault."""

    first: int
    last: int
    """Behind the last line."""
    wrapped: bool = False
    """They are indented, so a line has to be put in front."""

    def holds(self, text: Text, start: int, end: int) -> bool:
        """Whether an edit lies inside."""
        return text.starts[self.first] <= start and end <= text.starts[min(self.last, text.count)]

    def of(self, text: str, start: int, length: int) -> str:
        """The region's part of a text, ready to be parsed."""
        part = text[start : start + length]
        return "if 1:\n" + part if self.wrapped else part


def region_around(text: Text, fault: Fault, parser: Parser) -> Region:
    """The smallest region of whole blocks that shows the fault as the whole text does."""
    everything = Region(0, text.count)
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


def _between(text: Text, fault: Fault, depth: int, within: Region) -> Region:
    """From some blocks above the fault to some below it; blocks begin at most so deep."""
    inside = _inside_strings(text)
    begins = [n for n in range(within.first, within.last) if n not in inside and _begins_block(text, n, depth)]
    above = [n for n in begins if n <= fault.line]
    below = [n for n in begins if n > max(fault.line, fault.end_line)]
    back, ahead = (4, 3) if depth == 0 else (3, 2)
    first = above[-back] if len(above) >= back else within.first
    last = below[ahead - 1] if len(below) >= ahead else within.last
    return Region(first, last)


def _inside_strings(text: Text) -> FrozenSet[int]:
    lines: Set[int] = set()
    for token in text.tokens:
        if token.kind != NEWLINE and "\n" in token.text:
            lines.update(range(token.line + 1, token.line + token.text.count("\n") + 1))
    return frozenset(lines)


def _begins_block(text: Text, number: int, depth: int) -> bool:
    line = text.line(number)
    stripped = line.lstrip(" \t")
    if not stripped or stripped.startswith(_GOES_ON) or len(line) - len(stripped) > depth:
        return False
    if depth and not stripped.startswith(("def ", "class ", "async def ")):
        return False
    if number and text.line(number - 1).lstrip(" \t").startswith("@"):
        return False
    above = text.before(number)
    # Cut here, the block of the line above would have no body.
    return above is None or not text.line(above).split("#")[0].rstrip().endswith(":")


def _shows(text: Text, region: Region, fault: Fault, parser: Parser) -> bool:
    """Whether the region alone is refused at the same place, and all in front of it is not."""
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
