"""A text that does not parse: its lines, its tokens, and how its brackets nest as far as one can tell."""

from __future__ import annotations

import bisect
from typing import Dict, List, NamedTuple, Optional, Tuple

from sandbox.guest.search.candidates.broken.lexing import (
    CLOSERS,
    COMMENT,
    NAME,
    NEWLINE,
    OPENERS,
    tokens_of,
)
from sandbox.guest.search.candidates.broken.model import Fault
from sandbox.guest.search.source.render import Edit

STARTS_STATEMENT = frozenset(
    {"def", "class", "return", "import", "while", "try", "raise", "assert", "del", "pass", "break", "continue",
     "global", "nonlocal", "with", "@", "elif", "except", "finally"}
)  # fmt: skip
"""What can begin a line only where no bracket is open."""
COMPOUND = frozenset({"if", "elif", "else", "for", "while", "def", "class", "try", "except", "finally", "with"})
SOFT_COMPOUND = frozenset({"async", "match", "case"})


class Nesting(NamedTuple):
    """What is wrong with the brackets, as positions among the code tokens."""

    unclosed: Tuple[Tuple[int, int], ...]
    """An opener, and the first token behind the statement it has to be closed in."""
    superfluous: Tuple[int, ...]
    mismatched: Tuple[Tuple[int, int], ...]
    """An opener and the closer of another kind."""


class Text:
    """Source text without a byte-order mark.

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
        self.tokens = tokens_of(text)
        self.code = [t for t in self.tokens if t.kind not in {COMMENT, NEWLINE}]
        self._code_starts = [t.start for t in self.code]
        self.names = frozenset(t.text for t in self.code if t.kind == NAME)
        self.heads = self._heads()
        """For each line that begins inside brackets, a string or behind a backslash: the line its statement begins."""
        self.unit = self._unit()

    def line_of(self, offset: int) -> int:
        """The line, from 0, in which a character stands."""
        return max(0, bisect.bisect_right(self.starts, offset) - 1)

    def line(self, number: int) -> str:
        """A line without its end."""
        if not 0 <= number < self.count:
            return ""
        return self.text[self.starts[number] : self.starts[number + 1]].rstrip("\r\n")

    def indent(self, number: int) -> str:
        """The white space a line begins with."""
        line = self.line(number)
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    def is_blank(self, number: int) -> bool:
        """Whether a line holds nothing, or a comment."""
        line = self.line(number).strip()
        return not line or line.startswith("#")

    def before(self, number: int) -> Optional[int]:
        """The nearest line above that holds something."""
        return next((n for n in range(number - 1, -1, -1) if not self.is_blank(n)), None)

    def after(self, number: int) -> Optional[int]:
        """The nearest line below that holds something."""
        return next((n for n in range(number + 1, self.count) if not self.is_blank(n)), None)

    def offset(self, line: int, column: int) -> int:
        """The character at a place."""
        line = min(max(line, 0), self.count - 1)
        return min(self.starts[line] + max(column, 0), max(self.starts[line], self.starts[line + 1] - 1))

    def at(self, offset: int) -> int:
        """The position of the first code token that begins at an offset or behind."""
        return bisect.bisect_left(self._code_starts, offset)

    def on_line(self, number: int) -> List[int]:
        """Positions of the code tokens that begin on a line."""
        first, last = self.at(self.starts[number]), self.at(self.starts[min(number + 1, self.count)])
        return list(range(first, last))

    def begins_line(self, position: int) -> bool:
        """Whether a code token is the first of its line."""
        token = self.code[position]
        return not self.text[self.starts[token.line] : token.start].strip()

    def splice(self, edits: Tuple[Edit, ...]) -> str:
        """The text with edits put in."""
        pieces, at = [], 0
        for edit in sorted(edits):
            if edit.start < at:
                raise ValueError("edits overlap")
            pieces += [self.text[at : edit.start], edit.text]
            at = edit.end
        return "".join([*pieces, self.text[at:]])

    def head(self, number: int) -> int:
        """The line on which the statement that a line belongs to begins."""
        return self.heads.get(number, number)

    def _heads(self) -> Dict[int, int]:
        heads: Dict[int, int] = {}
        depth, begin, last = 0, 0, -1
        for position, token in enumerate(self.code):
            joined = last >= 0 and self.line(last).endswith("\\") and token.line == last + 1
            if token.line > last and not joined:
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
        """How far this file indents a block."""
        widths: Dict[str, int] = {}
        for number in range(1, min(self.count, 2000)):
            inner, outer = self.indent(number), self.indent(number - 1)
            if len(inner) > len(outer) and inner.startswith(outer) and self.line(number - 1).rstrip().endswith(":"):
                step = inner[len(outer) :]
                widths[step] = widths.get(step, 0) + 1
        return max(widths, key=lambda step: (widths[step], step), default="    ")

    def nesting(self, first: int, last: int) -> Nesting:
        """Match brackets between two code tokens, with statements as the hold where they do not match."""
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
        """Whether a statement must begin here although a bracket seems open."""
        token = self.code[position]
        if token.text in STARTS_STATEMENT:
            return True
        if len(self.indent(token.line)) > len(self.indent(self.code[opener].line)):
            return False
        follows = self.code[position + 1].text if position + 1 < len(self.code) else ""
        if token.kind == NAME and token.text in {"if", "for", "from", "else"}:
            return True
        return token.kind == NAME and not token.is_keyword and follows in {"=", ".", "("}


class View:
    """What a kind of mistake gets to see.

    Args:
        text: The text.
        fault: Where this interpreter stops.
        first: The first line of the region that is looked at.
        last: The line behind it.
    """

    def __init__(self, text: Text, fault: Fault, first: int, last: int) -> None:
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
        """Positions of code tokens around the fault, inside the region."""
        end = self.text.at(self.text.offset(self.fault.end_line, self.fault.end_column))
        reach = min(max(self.here, end), self.here + 40) + behind
        return range(max(self.first_token, self.here - before), min(self.last_token, reach))

    def distance(self, line: int) -> float:
        """What it costs to look further away from where the interpreter stops."""
        return min(1.0, 0.12 * abs(self.fault.line - line))
