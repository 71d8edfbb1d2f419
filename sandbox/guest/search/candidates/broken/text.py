"""A text that does not parse: its lines, tokens and bracket nesting."""

from __future__ import annotations

import bisect
from typing import Dict, List, NamedTuple, Optional, Tuple

from sandbox.guest.search.candidates.broken.lexing import (
    CLOSERS,
    COMMENT,
    NAME,
    NEWLINE,
    OPENERS,
    tokenize_source,
)
from sandbox.guest.search.candidates.broken.model import SyntaxFault
from sandbox.guest.search.source.render import TextEdit

STARTS_STATEMENT = frozenset(
    {"def", "class", "return", "import", "while", "try", "raise", "assert", "del", "pass",
     "break", "continue", "global", "nonlocal", "with", "@", "elif", "except", "finally"}
)  # fmt: skip
"""Tokens that begin a line only if no bracket is open."""
COMPOUND = frozenset(
    {"if", "elif", "else", "for", "while", "def", "class", "try", "except", "finally", "with"}
)
SOFT_COMPOUND = frozenset({"async", "match", "case"})


class Nesting(NamedTuple):
    """Bracket errors, as positions among the code tokens."""

    unclosed: Tuple[Tuple[int, int], ...]
    """Pairs of an opening bracket and the first token after the statement it belongs to."""
    superfluous: Tuple[int, ...]
    mismatched: Tuple[Tuple[int, int], ...]
    """Pairs of an opening bracket and a closing one of another kind."""


class SourceText:
    """A source text without a byte-order mark.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.starts = [0]
        for line in text.split("\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.count = len(self.starts) - 1
        self.tokens = tokenize_source(text)
        self.code = [t for t in self.tokens if t.kind not in {COMMENT, NEWLINE}]
        self._code_starts = [t.start for t in self.code]
        self.names = frozenset(t.text for t in self.code if t.kind == NAME)
        self.heads = self._heads()
        """Maps continuation lines (in brackets, strings, after a backslash) to the statement's
        line.
        """
        self.unit = self._unit()

    def line_at(self, offset: int) -> int:
        """Return the line of an offset, counted from 0."""
        return max(0, bisect.bisect_right(self.starts, offset) - 1)

    def line(self, number: int) -> str:
        """Return a line without its line ending."""
        if not 0 <= number < self.count:
            return ""
        return self.text[self.starts[number] : self.starts[number + 1]].rstrip("\r\n")

    def indent(self, number: int) -> str:
        """Return the leading white space of a line."""
        line = self.line(number)
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    def is_blank(self, number: int) -> bool:
        """Return True if a line is empty or only a comment."""
        line = self.line(number).strip()
        return not line or line.startswith("#")

    def before(self, number: int) -> Optional[int]:
        """Return the nearest line above that is not blank."""
        return next((n for n in range(number - 1, -1, -1) if not self.is_blank(n)), None)

    def after(self, number: int) -> Optional[int]:
        """Return the nearest line below that is not blank."""
        return next((n for n in range(number + 1, self.count) if not self.is_blank(n)), None)

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column."""
        line = min(max(line, 0), self.count - 1)
        return min(
            self.starts[line] + max(column, 0), max(self.starts[line], self.starts[line + 1] - 1)
        )

    def at(self, offset: int) -> int:
        """Return the position of the first code token at or after an offset."""
        return bisect.bisect_left(self._code_starts, offset)

    def on_line(self, number: int) -> List[int]:
        """Return positions of the code tokens that begin on a line."""
        first, last = (
            self.at(self.starts[number]),
            self.at(self.starts[min(number + 1, self.count)]),
        )
        return list(range(first, last))

    def begins_line(self, position: int) -> bool:
        """Return True if a code token is the first of its line."""
        token = self.code[position]
        return not self.text[self.starts[token.line] : token.start].strip()

    def splice(self, edits: Tuple[TextEdit, ...]) -> str:
        """Return the text with edits applied."""
        pieces, at = [], 0
        for edit in sorted(edits):
            if edit.start < at:
                raise ValueError("edits overlap")
            pieces += [self.text[at : edit.start], edit.text]
            at = edit.end
        return "".join([*pieces, self.text[at:]])

    def head(self, number: int) -> int:
        """Return the first line of the statement that contains a line."""
        return self.heads.get(number, number)

    def _heads(self) -> Dict[int, int]:
        heads: Dict[int, int] = {}
        depth, begin, last = 0, 0, -1
        for position, token in enumerate(self.code):
            joined = last >= 0 and self.line(last).endswith("\\") and token.line == last + 1
            if token.line > last and not joined:
                # An unclosed bracket above must not swallow all following statements.
                if token.text in STARTS_STATEMENT and self.begins_line(position):
                    depth = 0
                if depth <= 0:
                    depth, begin = 0, token.line
            end = token.line + token.text.count("\n")
            for number in range(token.line, end + 1):
                if number != begin:
                    heads[number] = begin
            depth += (token.text in OPENERS) - (token.text in CLOSERS)
            last = end
        return heads

    def _unit(self) -> str:
        """Return the file's most common indentation step."""
        widths: Dict[str, int] = {}
        for number in range(1, min(self.count, 2000)):
            inner, outer = self.indent(number), self.indent(number - 1)
            if (
                len(inner) > len(outer)
                and inner.startswith(outer)
                and self.line(number - 1).rstrip().endswith(":")
            ):
                step = inner[len(outer) :]
                widths[step] = widths.get(step, 0) + 1
        return max(widths, key=lambda step: (widths[step], step), default="    ")

    def nesting(self, first: int, last: int) -> Nesting:
        """Match brackets between two code tokens; a new statement closes those still open."""
        stack: List[int] = []
        unclosed: List[Tuple[int, int]] = []
        superfluous: List[int] = []
        mismatched: List[Tuple[int, int]] = []
        for position in range(first, last):
            token = self.code[position]
            if stack and self.begins_line(position) and self._starts_anew(position, stack[0]):
                unclosed += [(opener, position) for opener in stack]
                stack = []
            if token.text in OPENERS:
                stack.append(position)
            elif token.text in CLOSERS:
                if not stack:
                    superfluous.append(position)
                elif self.code[stack[-1]].text == CLOSERS[token.text]:
                    stack.pop()
                else:
                    mismatched.append((stack[-1], position))
                    stack.pop()
        unclosed += [(opener, last) for opener in stack]
        return Nesting(tuple(unclosed), tuple(superfluous), tuple(mismatched))

    def _starts_anew(self, position: int, opener: int) -> bool:
        """Return True if a statement must begin here although a bracket seems open."""
        token = self.code[position]
        if token.text in STARTS_STATEMENT:
            return True
        if len(self.indent(token.line)) > len(self.indent(self.code[opener].line)):
            return False
        follows = self.code[position + 1].text if position + 1 < len(self.code) else ""
        # These may continue an expression, but not at the indentation of its statement.
        if token.kind == NAME and token.text in {"if", "for", "from", "else"}:
            return True
        return token.kind == NAME and not token.is_keyword and follows in {"=", ".", "("}


class SyntaxContext:
    """The context available to a kind of syntax error.

    Args:
        text: The text.
        fault: The syntax error.
        first: First line of the region to examine.
        last: Line after the region.
    """

    def __init__(self, text: SourceText, fault: SyntaxFault, first: int, last: int) -> None:
        self.text = text
        self.fault = fault
        self.first = first
        self.last = last
        self.offset = text.offset(fault.line, fault.column)
        self.here = text.at(self.offset)
        self.code = text.code
        self.names = text.names
        self.first_token = text.at(text.starts[first])
        self.last_token = text.at(text.starts[min(last, text.count)])

    def window(self, before: int, behind: int) -> range:
        """Return positions of code tokens around the error, inside the region."""
        end = self.text.at(self.text.offset(self.fault.end_line, self.fault.end_column))
        reach = min(max(self.here, end), self.here + 40) + behind
        return range(max(self.first_token, self.here - before), min(self.last_token, reach))

    def distance(self, line: int) -> float:
        """Return the cost of editing away from the line of the error."""
        # Errors are reported near their cause; beyond eight lines distance says little.
        return min(1.0, 0.12 * abs(self.fault.line - line))
