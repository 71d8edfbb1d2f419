"""The place of a finding: the nodes there, their context, and common edits."""

from __future__ import annotations

import ast
import builtins
from typing import Iterator, List, Optional, Tuple, Type, Union

from sandbox.guest.search.findings.model import FixDraft, SourceFinding
from sandbox.guest.search.source.render import SourceFile, TextEdit, first_line

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class FindingPlace:
    """A finding in a source file.

    Args:
        source: The file.
        finding: The finding.
    """

    def __init__(self, source: SourceFile, finding: SourceFinding) -> None:
        self.source = source
        self.finding = finding
        self.message = finding.message
        self._lines = source.data.decode("utf-8").split("\n")
        self.nodes = [node for node in ast.walk(source.tree) if hasattr(node, "lineno")]

    # --- reading ---------------------------------------------------------------------------------

    @property
    def line_text(self) -> str:
        """The line of the finding."""
        return self.line(self.finding.line)

    def line(self, number: int) -> str:
        """Return a line by its number, which starts at 1, without its end."""
        return self._lines[number - 1].rstrip("\r") if 1 <= number <= len(self._lines) else ""

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self._lines)

    def here(self, *kinds: Type[ast.AST]) -> List[ast.AST]:
        """Return the nodes of these types that begin on the line, nearest to the column first."""
        found = [
            n
            for n in self.nodes
            if isinstance(n, kinds) and getattr(n, "lineno", 0) == self.finding.line
        ]
        column = self.finding.column - 1
        if column < 0:
            return found
        return sorted(
            found, key=lambda n: (not _covers(n, self.finding.line, column), _away(n, column))
        )

    def statement(self) -> Optional[ast.stmt]:
        """Return the innermost statement around the line."""
        line = self.finding.line
        around = [
            n for n in self.nodes if isinstance(n, ast.stmt) and first_line(n) <= line <= _last(n)
        ]
        return min(around, key=lambda n: (_last(n) - n.lineno, -n.lineno), default=None)

    def enclosing_statement(self, node: ast.AST) -> Optional[ast.stmt]:
        """Return the statement that contains a node, or None."""
        at: ast.AST = node
        while not isinstance(at, ast.stmt):
            if at not in self.source.places:
                return None
            at = self.source.places[at].parent
        return at

    def function(self, node: Optional[ast.AST] = None) -> Optional[Function]:
        """Return the innermost function around a node, or around the line."""
        at: Optional[ast.AST] = node or self.statement()
        while at is not None:
            if isinstance(at, FUNCTIONS) and at is not node:
                return at
            if isinstance(at, FUNCTIONS) and node is None:
                return at
            at = self.source.places[at].parent if at in self.source.places else None
        return None

    def in_loop(self, node: ast.AST) -> bool:
        """Return True if a node is in a loop of its own function."""
        at = node
        while at in self.source.places and not isinstance(at, FUNCTIONS):
            if isinstance(at, (ast.For, ast.While, ast.AsyncFor)):
                return True
            at = self.source.places[at].parent
        return False

    def names(self) -> List[str]:
        """Return all names bound in the file, in order, then the builtins."""
        found: List[str] = []
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.append(node.id)
            elif isinstance(node, ast.arg):
                found.append(node.arg)
            elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                found.append(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                found += [(alias.asname or alias.name).split(".")[0] for alias in node.names]
        return [
            *dict.fromkeys(found),
            *(name for name in sorted(dir(builtins)) if not name.startswith("_")),
        ]

    def binds(self, name: str) -> bool:
        """Return True if the file binds a name at module level."""
        return any(
            (
                isinstance(node, (ast.Import, ast.ImportFrom))
                and name in [(a.asname or a.name) for a in node.names]
            )
            or (isinstance(node, (*FUNCTIONS, ast.ClassDef)) and node.name == name)
            for node in self.source.tree.body
        )

    # --- edits -----------------------------------------------------------------------------------

    def replace(self, cost: float, node: ast.AST, text: str) -> FixDraft:
        """Return a draft with another expression in place of a node."""
        return FixDraft(cost, (self.source.replacement(node, text),))

    def rewrite(self, cost: float, node: ast.AST, text: str) -> FixDraft:
        """Return a draft with exactly this text in place of a node."""
        start, end = self.source.span(node)
        return FixDraft(cost, (TextEdit(start, end, text),))

    def before(self, statement: ast.stmt, *lines: str) -> Tuple[TextEdit, ...]:
        """Return an edit that inserts lines before a statement, with its indentation."""
        indent = self.source.indent(statement)
        if indent is None:
            return ()
        start = self.source.line_span(first_line(statement), _last(statement))[0]
        return (
            TextEdit(
                start, start, "".join(f"{indent}{line}{self.source.newline}" for line in lines)
            ),
        )

    def remove(self, statement: ast.stmt) -> Tuple[TextEdit, ...]:
        """Return an edit that removes a statement; an empty block gets a `pass`."""
        span = self.source.whole_lines(statement)
        if span is None:
            return ()
        place = self.source.places[statement]
        block = getattr(place.parent, place.field, None)
        alone = (
            isinstance(block, list) and len(block) == 1 and not isinstance(place.parent, ast.Module)
        )
        kept = f"{self.source.indent(statement)}pass{self.source.newline}" if alone else ""
        return (TextEdit(span[0], span[1], kept),)

    def importing(self, text: str) -> Tuple[TextEdit, ...]:
        """Return an edit that adds an import after the top imports or the docstring."""
        body = self.source.tree.body
        last: Optional[ast.stmt] = None
        for statement in body:
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if isinstance(statement, (ast.Import, ast.ImportFrom)) or (is_text and last is None):
                last = statement
            elif not is_text:
                break
        at = self.source.line_span(_last(last), _last(last))[1] if last is not None else 0
        gap = self.source.newline if isinstance(last, ast.Expr) else ""
        if at and not self.source.data[:at].endswith(b"\n"):
            gap = self.source.newline + gap
        return (TextEdit(at, at, f"{gap}{text}{self.source.newline}"),)

    def typing(self, name: str) -> Tuple[TextEdit, ...]:
        """Return the edits that make a name of `typing` available; none if the file has it."""
        if self.binds(name):
            return ()
        for statement in self.source.tree.body:
            if (
                isinstance(statement, ast.ImportFrom)
                and statement.module == "typing"
                and statement.level == 0
            ):
                end = self.source.span(statement)[1]
                text = self.source.text(statement)
                if text.endswith(")") or "\n" in text:
                    break
                return (TextEdit(end, end, f", {name}"),)
        return self.importing(f"from typing import {name}")

    def optional(self, text: str) -> Iterator[Tuple[str, Tuple[TextEdit, ...], float]]:
        """Yield the ways to write an optional type in this file: text, further edits, and cost."""
        source = self.source.data.decode("utf-8")
        modern = "| None" in source or "from __future__ import annotations" in source
        classic = self.binds("Optional")
        yield f"{text} | None", (), 0.0 if modern or not classic else 0.3
        yield f"Optional[{text}]", self.typing("Optional"), 0.0 if classic else 0.4


def _covers(node: ast.AST, line: int, column: int) -> bool:
    start = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
    end = (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0))
    return start <= (line, column) < end


def _away(node: ast.AST, column: int) -> Tuple[int, int]:
    start = getattr(node, "col_offset", 0)
    return abs(start - column), getattr(node, "end_col_offset", 0) - start


def _last(node: ast.AST) -> int:
    end: Optional[int] = getattr(node, "end_lineno", None)
    return end if end is not None else int(getattr(node, "lineno", 1))


def last_line(node: ast.AST) -> int:
    """Return the last line of a node."""
    return _last(node)


def body_start(function: Function) -> ast.stmt:
    """Return the first statement after the docstring."""
    first = function.body[0]
    is_text = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return function.body[1] if is_text and len(function.body) > 1 else first
