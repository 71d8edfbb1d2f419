"""Penalize valid but implausible code, to rank a good repair above one that merely parses."""

from __future__ import annotations

import ast
import builtins
import re
from typing import Dict, FrozenSet, List

_VALUES = (
    ast.Constant,
    ast.JoinedStr,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.Tuple,
    ast.Compare,
    ast.BoolOp,
    ast.ListComp,
)
_KNOWN = frozenset(dir(builtins)) | {"__file__", "__name__", "__path__", "__class__", "__doc__"}
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def plausible_names(text: str) -> FrozenSet[str]:
    """Return words that occur more than once in a text, and names that every module has.

    Occurrences inside strings count, since a broken string may contain code.
    """
    counts: Dict[str, int] = {}
    for word in re.findall(r"[^\W\d]\w*", text):
        counts[word] = counts.get(word, 0) + 1
    return _KNOWN | {name for name, count in counts.items() if count > 1}


class OddityCounter:
    """Sums up penalties for implausible code.

    Args:
        known: Names that are plausible.
        first: First line to examine, counted from 1.
        last: Last line to examine.
    """

    def __init__(self, known: FrozenSet[str], first: int, last: int) -> None:
        self.total = 0.0
        self._first = first
        self._last = last
        self._known = known
        self._inside: List[ast.AST] = []

    def visit(self, node: ast.AST) -> None:
        """Add the penalties of a node and its descendants."""
        if self._first <= getattr(node, "lineno", 0) <= self._last:
            if isinstance(node, ast.expr):
                self._expression(node)
            else:
                self._statement(node)
        outer = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if outer:
            self._inside.append(node)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                self._block(block)
        for child in ast.iter_child_nodes(node):
            self.visit(child)
        if outer:
            self._inside.pop()

    def _block(self, block: List[ast.stmt]) -> None:
        for before, behind in zip(block, block[1:]):
            near = self._first <= behind.lineno <= self._last
            if (
                near
                and isinstance(before, _LEAVES)
                and not isinstance(behind, (ast.FunctionDef, ast.ClassDef))
            ):
                self.total += 1.2

    def _statement(self, node: ast.AST) -> None:
        if isinstance(node, ast.Expr):
            self._alone(node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is None:
            if (
                not isinstance(node.annotation, (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp))
                or not self._class()
            ):
                self.total += 1.0
        elif isinstance(node, (ast.If, ast.While)) and isinstance(
            node.test, (ast.Tuple, ast.JoinedStr, ast.Lambda)
        ):
            self.total += 2.0
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._function(node)
        elif isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple):
            self.total += 2.0

    def _alone(self, value: ast.expr) -> None:
        """Penalize an expression statement without effect."""
        if isinstance(value, ast.Constant):
            self.total += 0.0 if isinstance(value.value, str) or value.value is Ellipsis else 1.5
        elif isinstance(value, ast.Tuple):
            self.total += 2.0
        elif not isinstance(value, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.ListComp)):
            self.total += 1.5

    def _class(self) -> bool:
        return bool(self._inside) and isinstance(self._inside[-1], ast.ClassDef)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        first = node.args.args[0].arg if node.args.args else ""
        if first == "self" and not self._class():
            self.total += 1.2
        if (
            self._class()
            and first not in {"self", "cls"}
            and not node.decorator_list
            and node.args.vararg is None
        ):
            self.total += 0.8
        if all(isinstance(step, ast.Pass) for step in node.body):
            self.total += 0.4

    def _expression(self, node: ast.expr) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, (*_VALUES, ast.BinOp)):
            self.total += 2.0
        elif isinstance(node, ast.Subscript) and isinstance(node.value, _VALUES):
            self.total += 0.6 if not isinstance(node.slice, ast.Tuple) else 2.0
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Compare, ast.BoolOp)):
            self.total += 0.7
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Compare, ast.BoolOp))
        ) or (isinstance(node, ast.Name) and node.id not in self._known):
            self.total += 0.5
        elif isinstance(node, ast.Compare) and isinstance(node.left, (ast.Tuple, ast.Lambda)):
            self.total += 0.8
        elif isinstance(node, ast.Dict):
            self.total += 0.3 * sum(isinstance(key, ast.NamedExpr) for key in node.keys)


def oddness(tree: ast.AST, known: FrozenSet[str], first: int, last: int) -> float:
    """Return the total penalty of a tree for a range of lines, counted from 1."""
    seen = OddityCounter(known, first, last)
    try:
        seen.visit(tree)
    except RecursionError:
        # Too deep to judge: it ranks behind every other repair.
        return 50.0
    return seen.total
