"""A source file as bytes and syntax tree: spans of nodes, precedence, and splicing of edits."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from functools import lru_cache
from typing import Any, Iterator, NamedTuple


class TextEdit(NamedTuple):
    """Replace the bytes from `start` to `end` of the file by `text`."""

    start: int
    end: int
    text: str


class NodePosition(NamedTuple):
    """The position of a node: in `parent.field`, at `position` if that field is a list."""

    parent: ast.AST
    field: str
    position: int | None


(
    NAMED,
    LAMBDA,
    TERNARY,
    OR,
    AND,
    NOT,
    COMPARE,
    BIT_OR,
    BIT_XOR,
    BIT_AND,
    SHIFT,
    SUM,
    TERM,
    UNARY,
    POWER,
    AWAIT,
    ATOM,
) = range(17)
"""Precedence of expressions, loosest first."""

BINARY_LEVELS: dict[type[ast.operator], int] = {
    ast.BitOr: BIT_OR,
    ast.BitXor: BIT_XOR,
    ast.BitAnd: BIT_AND,
    ast.LShift: SHIFT,
    ast.RShift: SHIFT,
    ast.Add: SUM,
    ast.Sub: SUM,
    ast.Mult: TERM,
    ast.Div: TERM,
    ast.FloorDiv: TERM,
    ast.Mod: TERM,
    ast.MatMult: TERM,
    ast.Pow: POWER,
}
OPERATOR_TEXT: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.And: "and",
    ast.Or: "or",
}
BLOCKS = (ast.If, ast.Try, getattr(ast, "TryStar", ast.Try), ast.With)
"""Statements outside functions that may contain functions; `except*` exists since Python 3.11."""


SLOTS: tuple[tuple[tuple[type[ast.AST], ...], tuple[str, ...], int], ...] = (
    ((ast.IfExp,), ("orelse",), TERNARY),
    ((ast.IfExp,), ("test", "body"), OR),
    ((ast.comprehension,), ("iter", "ifs", "target"), OR),
    ((ast.Call,), ("func",), ATOM),
    ((ast.Attribute, ast.Subscript, ast.Await), ("value",), ATOM),
    ((ast.Compare, ast.Starred), ("left", "comparators", "value"), BIT_OR),
)
"""Minimum precedence in fields of a parent; all others accept anything but a bare tuple."""


def precedence(node: ast.AST) -> int:
    """Return the precedence of an expression; ATOM never needs parentheses."""
    if isinstance(node, ast.BinOp):
        return BINARY_LEVELS[type(node.op)]
    if isinstance(node, ast.BoolOp):
        return AND if isinstance(node.op, ast.And) else OR
    if isinstance(node, ast.UnaryOp):
        return NOT if isinstance(node.op, ast.Not) else UNARY
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    ):
        return AWAIT
    levels: tuple[tuple[tuple[type[ast.AST], ...], int], ...] = (
        ((ast.Compare,), COMPARE),
        ((ast.IfExp,), TERNARY),
        ((ast.Lambda,), LAMBDA),
        ((ast.Await,), AWAIT),
        (
            (ast.Tuple, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Starred, ast.GeneratorExp),
            NAMED,
        ),
    )
    return next((level for kinds, level in levels if isinstance(node, kinds)), ATOM)


@lru_cache(maxsize=65536)
def text_precedence(text: str) -> int:
    """Return the precedence of source text.

    Text in parentheses is an atom; invalid text is below all levels.
    """
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return -1
    body = tree.body
    starts_inside = (
        body.col_offset > 0 or body.lineno > 1 or isinstance(body, (ast.Tuple, ast.GeneratorExp))
    )
    return ATOM if text.startswith("(") and starts_inside else precedence(body)


def required_precedence(place: NodePosition, node: ast.AST) -> int:
    """Return the minimum precedence of an expression without parentheses at this place."""
    parent, field = place.parent, place.field
    if isinstance(parent, ast.BinOp):
        level = BINARY_LEVELS[type(parent.op)]
        if isinstance(parent.op, ast.Pow):
            return AWAIT if field == "left" else UNARY
        return level if field == "left" else level + 1
    if isinstance(parent, ast.UnaryOp):
        return NOT if isinstance(parent.op, ast.Not) else UNARY
    if isinstance(parent, ast.BoolOp):
        return precedence(parent) + 1
    if isinstance(parent, (ast.Assign, ast.AugAssign, ast.Return)) and isinstance(node, ast.Tuple):
        return NAMED
    return next(
        (level for kinds, fields, level in SLOTS if isinstance(parent, kinds) and field in fields),
        LAMBDA,
    )


class _WithoutIndex(ast.NodeTransformer):
    """Removes the `Index` nodes of Python 3.8, which have no position; later versions have none."""

    def visit_Index(self, node: ast.AST) -> ast.AST:  # type: ignore[explicit-override]
        return self.generic_visit(node.value)  # type: ignore[attr-defined]


class SourceFile:
    """One Python file of the checkout.

    Args:
        path: Relative to the checkout.
        data: Its bytes.

    Raises:
        ValueError: It is not UTF-8, or has line ends that the parser counts differently.
        SyntaxError: It is not valid for this interpreter.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        data.decode("utf-8")
        if b"\r" in data.replace(b"\r\n", b"") or b"\f" in data:
            raise ValueError("unusual line ends")
        self.newline = "\r\n" if b"\r\n" in data else "\n"
        self._starts = [0]
        for line in data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        # A byte order mark is no part of the columns that the parser counts.
        self._mark = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        self.tree = ast.parse(data)
        if sys.version_info < (3, 9):
            self.tree = _WithoutIndex().visit(self.tree)
        self.notes: dict[str, Any] = {}
        """A cache for facts about the whole file."""
        self.places: dict[ast.AST, NodePosition] = {}
        self.nodes = list(ast.walk(self.tree))
        """All nodes. A new walk takes twenty times as long as iterating over this list."""
        for parent in self.nodes:
            for field, value in ast.iter_fields(parent):
                for index, child in enumerate(value if isinstance(value, list) else [value]):
                    if isinstance(child, ast.AST):
                        self.places[child] = NodePosition(
                            parent, field, index if isinstance(value, list) else None
                        )

    def offset(self, line: int, column: int) -> int:
        """Return the byte offset of a line (from 1) and a UTF-8 column."""
        return self._starts[line - 1] + column + (self._mark if line == 1 else 0)

    def line_span(self, first: int, last: int) -> tuple[int, int]:
        """Return the bytes of whole lines, with the last line's end."""
        return self._starts[first - 1], min(self._starts[last], len(self.data))

    def position(self, offset: int) -> tuple[int, str]:
        """Return the number and the text of the line before the one that starts at this byte."""
        line = max(1, bisect_right(self._starts, offset) - 1)
        return line, self.line(line)

    def line(self, number: int) -> str:
        """Return the text of a line."""
        start, end = self.line_span(number, number)
        return self.data[start:end].decode("utf-8", "replace")

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the bytes of a node, without parentheses around it."""
        placed: Any = node
        start = self.offset(placed.lineno, placed.col_offset)
        return start, self.offset(placed.end_lineno, placed.end_col_offset)

    def text(self, node: ast.AST) -> str:
        """Return the source of a node."""
        start, end = self.span(node)
        return self.data[start:end].decode("utf-8")

    def part(self, node: ast.AST, level: int) -> str:
        """Return the source of a node, in parentheses if this level needs them."""
        text = self.text(node)
        return text if precedence(node) >= level and "\n" not in text else parenthesize(text, level)

    def replacement(self, node: ast.AST, text: str) -> TextEdit:
        """Return an edit that replaces a node by an expression, in parentheses if needed."""
        start, end = self.span(node)
        if isinstance(node, ast.GeneratorExp) and self.data[start - 1 : start].strip():
            # the span of a lone generator argument includes the call's own parentheses
            text = f"({text})"
        elif not self._in_parentheses(start, end):
            text = parenthesize(text, required_precedence(self.places[node], node))
        if self.data[start - 1 : start].isalnum() and text[:1].isalnum():
            text = " " + text
        if self.data[end : end + 1].isalnum() and text[-1:].isalnum():
            text += " "
        return TextEdit(start, end, text)

    def _in_parentheses(self, start: int, end: int) -> bool:
        before = self.data[:start].rstrip(b" ")
        after = self.data[end : end + 40].lstrip(b" ")
        # `f(x)` looks like `(x)` here; an argument has no stricter precedence.
        return before.endswith(b"(") and after.startswith(b")")

    def indent(self, statement: ast.stmt) -> str | None:
        """Return the indentation of a statement, or None if it does not start its line."""
        first = first_line(statement)
        start = self._starts[first - 1] + (self._mark if first == 1 else 0)
        before = self.data[start : self.offset(statement.lineno, statement.col_offset)]
        if first != statement.lineno:
            before = before[: len(before) - len(before.lstrip())]
        return before.decode("utf-8") if not before.strip() else None

    def whole_lines(self, statement: ast.stmt) -> tuple[int, int] | None:
        """Return the bytes of a statement's lines, or None if it shares a line."""
        if self.indent(statement) is None:
            return None
        last = statement.end_lineno or statement.lineno
        start, end = self.line_span(first_line(statement), last)
        rest = self.data[self.span(statement)[1] : end].strip()
        return (start, end) if not rest or rest.startswith(b"#") else None

    def render(self, edits: tuple[TextEdit, ...]) -> bytes:
        """Return the file with these edits; all other bytes are unchanged."""
        return splice(self.data, edits)


def has_true_position(part: ast.AST, source: SourceFile) -> bool:
    """Return True if a part of an f-string has a correct position.

    There only plain `{name}` parts are trusted: the text at the position must be the expression, in
    braces.
    """
    if not isinstance(part, ast.FormattedValue):
        return False
    if sys.version_info >= (3, 12):
        return True
    value = part.value
    if not isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp)):
        return False
    try:
        start, end = source.span(value)
        inner = ast.parse(source.data[start:end].decode("utf-8"), mode="eval").body
    except (SyntaxError, ValueError, IndexError):
        return False
    before, after = source.data[:start].rstrip(b" ")[-1:], source.data[end:].lstrip(b" ")[:1]
    one_line = value.lineno == value.end_lineno
    return (
        one_line
        and before == b"{"
        and after in (b"}", b"!", b":", b"=")
        and ast.dump(inner) == ast.dump(value)
    )


def first_line(statement: ast.AST) -> int:
    """Return the first line of a statement, including decorators."""
    lines = [d.lineno for d in getattr(statement, "decorator_list", ())]
    return int(min([*lines, statement.lineno]))  # type: ignore[attr-defined]


def parenthesize(text: str, level: int) -> str:
    """Return the text, in parentheses unless it has this precedence."""
    return text if text_precedence(text) >= level else f"({text})"


def splice(data: bytes, edits: tuple[TextEdit, ...]) -> bytes:
    """Return bytes with edits applied.

    Raises:
        ValueError: Two edits overlap.
    """
    pieces, at = [], 0
    for edit in sorted(edits):
        if edit.start < at:
            raise ValueError("edits overlap")
        pieces += [data[at : edit.start], edit.text.encode("utf-8")]
        at = edit.end
    return b"".join([*pieces, data[at:]])


def iterate_functions(
    tree: ast.Module,
) -> Iterator[tuple[tuple[ast.ClassDef, ...], ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield every outermost function with the classes around it, in source order."""

    def visit(body: list[ast.stmt], classes: tuple[ast.ClassDef, ...]) -> Iterator[Any]:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield classes, statement
            elif isinstance(statement, ast.ClassDef):
                yield from visit(statement.body, (*classes, statement))
            elif isinstance(statement, BLOCKS):
                handlers = getattr(statement, "handlers", [])
                for block in (statement, *handlers):
                    yield from visit(block.body, classes)
                for field in ("orelse", "finalbody"):
                    yield from visit(getattr(statement, field, []), classes)

    yield from visit(tree.body, ())
