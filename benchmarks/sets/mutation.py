"""Planting a bug: one small mutation of a program's text at one place, as tools for mutation testing make them.

Written from what such tools do, not from what the search can undo: nothing here is shared with its templates.
"""

import ast
import itertools
import re
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

_COMPARISONS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "is": "is not",
    "is not": "is",
    "in": "not in",
    "not in": "in",
}
_ARITHMETIC = {
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "//": "/",
    "%": "//",
    "**": "*",
    "<<": ">>",
    ">>": "<<",
    "&": "|",
    "|": "&",
    "^": "&",
}
_LONGEST_STRING = 60


@dataclass(frozen=True)
class Mutation:
    """Replace the characters from `start` to `end` by `text`."""

    kind: str
    line: int
    start: int
    end: int
    text: str

    def applied(self, source: str) -> str:
        """The mutated text."""
        return source[: self.start] + self.text + source[self.end :]


def mutations(source: str, lines: Collection[int]) -> Iterator[Mutation]:
    """Every mutation of a program on some lines; a few of them are no programs any more.

    Args:
        source: The program's text.
        lines: Numbers of the lines that may be mutated.
    """
    tree = ast.parse(source)
    text = _Text(source)
    for node in _interesting(tree):
        if getattr(node, "lineno", None) in lines:
            for mutate in _MUTATORS:
                yield from mutate(node, text)


def compiles(text: str) -> bool:
    """Whether a mutated text is a program."""
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(text, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _interesting(tree: ast.Module) -> Iterator[ast.AST]:
    """Every node but annotations, docstrings and lists of exported names, parents first."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop(0)
        yield node
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "type_comment"}:
                continue
            children = value if isinstance(value, list) else [value]
            todo += [child for child in children if isinstance(child, ast.AST) and not _dull(child)]


def _dull(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return True
    return isinstance(node, ast.Assign) and any(
        isinstance(t, ast.Name) and t.id[:2] == "__" for t in node.targets
    )


class _Text:
    """A program's text, by the positions of its syntax tree."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._lines = source.splitlines(keepends=True)

    def at(self, line: int, column: int) -> int:
        """The place of a line and a column, which counts bytes."""
        before = self._lines[line - 1].encode()[:column].decode(errors="replace")
        return self._starts[line - 1] + len(before)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """From where to where a node stands."""
        place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return self.at(place[0], place[1]), self.at(place[2], place[3])

    def of(self, node: ast.AST) -> str:
        """A node's own text."""
        start, end = self.span(node)
        return self.source[start:end]

    def instead(self, kind: str, node: ast.AST, text: str) -> Mutation:
        """Another text for a node."""
        start, end = self.span(node)
        return Mutation(kind, node.lineno, start, end, text)  # type: ignore[attr-defined]

    def between(
        self, kind: str, one: ast.AST, other: ast.AST, swap: dict[str, str]
    ) -> Iterator[Mutation]:
        """Another operator between two operands."""
        start, end = self.span(one)[1], self.span(other)[0]
        gap = self.source[start:end]
        found = re.fullmatch(r"([\s)\\]*)([^\s()\\]+(?:\s+(?:not|in))?)([\s(\\]*)", gap)
        if found and (new := swap.get(" ".join(found[2].split()))):
            line = one.end_lineno or 0  # type: ignore[attr-defined]
            yield Mutation(kind, line, start + found.start(2), start + found.end(2), new)


def _operators(node: ast.AST, text: _Text) -> Iterator[Mutation]:
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for one, other in itertools.pairwise(operands):
            yield from text.between("comparison", one, other, _COMPARISONS)
    elif isinstance(node, ast.BinOp):
        yield from text.between("arithmetic", node.left, node.right, _ARITHMETIC)
    elif isinstance(node, ast.BoolOp):
        for one, other in itertools.pairwise(node.values):
            yield from text.between("and or", one, other, {"and": "or", "or": "and"})
    elif isinstance(node, ast.AugAssign):
        swap = {f"{old}=": f"{new}=" for old, new in _ARITHMETIC.items()}
        yield from text.between("augmented", node.target, node.value, swap)
        yield from text.between(
            "augmented to plain", node.target, node.value, dict.fromkeys(swap, "=")
        )


def _constants(node: ast.AST, text: _Text) -> Iterator[Mutation]:
    if not isinstance(node, ast.Constant):
        return
    value, shown = node.value, text.of(node)
    if isinstance(value, bool):
        yield text.instead("boolean", node, str(not value))
    elif isinstance(value, int | float):
        yield text.instead("number", node, f"{value + 1!r}")
        yield text.instead("number", node, f"({value - 1!r})")
    elif (
        isinstance(value, str)
        and 0 < len(value) <= _LONGEST_STRING
        and shown[:1] in {"'", '"'}
        and shown[:3] not in {"'''", '"""'}
    ):
        yield text.instead("string", node, f"{shown[0]}XX{shown[1:-1]}XX{shown[-1]}")
        yield text.instead("string", node, shown[0] * 2)
    elif value is None:
        yield text.instead("none", node, '""')


def _conditions(node: ast.AST, text: _Text) -> Iterator[Mutation]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield text.instead("not dropped", node, text.of(node.operand))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        yield text.instead("sign dropped", node, text.of(node.operand))
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield text.instead("condition negated", node.test, f"(not ({text.of(node.test)}))")


def _statements(node: ast.AST, text: _Text) -> Iterator[Mutation]:
    if isinstance(node, ast.Return) and node.value is not None:
        yield text.instead("return none", node.value, "None")
    elif isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant):
        yield text.instead("assign none", node.value, "None")
    elif isinstance(node, ast.Break):
        yield text.instead("break", node, "continue")
    elif isinstance(node, ast.Continue):
        yield text.instead("continue", node, "break")
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield text.instead("call dropped", node, "pass")
    elif isinstance(node, ast.For):
        yield text.instead("no iteration", node.iter, "[]")
    elif isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name):
        yield text.instead("exception", node.type, "StopAsyncIteration")
    elif isinstance(node, ast.Lambda):
        yield text.instead("lambda", node.body, "None")


def _calls(node: ast.AST, text: _Text) -> Iterator[Mutation]:
    if isinstance(node, ast.Call):
        for argument in node.args:
            if not isinstance(argument, ast.Starred):
                yield text.instead("argument none", argument, "None")
        for keyword in node.keywords:
            if keyword.arg is not None:
                yield text.instead("argument none", keyword.value, "None")
        if len(node.args) > 1 and not isinstance(node.args[-1], ast.Starred):
            start, end = text.span(node.args[-2])[1], text.span(node.args[-1])[1]
            yield Mutation("argument dropped", node.args[-1].lineno, start, end, "")
    elif isinstance(node, ast.FunctionDef) and len(node.decorator_list) == 1:
        start = text.span(node.decorator_list[0])[0] - 1
        yield Mutation(
            "decorator dropped",
            node.decorator_list[0].lineno,
            start,
            text.at(node.lineno, node.col_offset),
            "",
        )


_MUTATORS: tuple[Callable[[ast.AST, _Text], Iterator[Mutation]], ...] = (
    _operators,
    _constants,
    _conditions,
    _statements,
    _calls,
)
