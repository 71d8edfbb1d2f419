"""A missing check for None, empty or zero: an early return, or a statement that should run only sometimes."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional

from sandbox.guest.search.scope import Proposal, Scope

COST = 3.4
CHEAPEST = COST - 1.6
CHANGES = (
    ("def f(a):\n    return a[0]\n", "def f(a):\n    if not a:\n        return None\n    return a[0]\n"),
    (
        "def f(a, b):\n    a.append(b)\n    return a\n",
        "def f(a, b):\n    if b not in a:\n        a.append(b)\n    return a\n",
    ),
    ("def f(a):\n    return a or g()\n", "def f(a):\n    return a if a is not None else g()\n"),
)
UNTOUCHED = ("class A:\n    x = 1\n",)

EXITS = (
    "return None", "return 0", "return 1", "return False", "return True", "return []", "return ''", "continue", "break",
)  # fmt: skip


def propose(node: ast.AST, scope: Scope) -> Iterator[Optional[Proposal]]:
    """Leave early when a name is empty, or put a statement below a condition."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
        first, second = node.values
        if isinstance(first, (ast.Name, ast.Attribute)):
            text = scope.text(first)
            yield scope.replace(COST - 1.6, node, f"{text} if {text} is not None else {scope.text(second)}")
    if not isinstance(node, ast.stmt) or not scope.is_inside(node) or isinstance(node, ast.ClassDef):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    conditions = [text for text in map(scope.text, scope.donors.conditions) if "\n" not in text]
    yield from _leave_early(node, conditions, scope)
    code = scope.dedented(node)
    if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)) and code and "\n" not in code:
        for condition in dict.fromkeys([*conditions, *_comparisons(scope)]):
            yield scope.restate(COST, node, f"if {condition}:\n    {code}")


def _leave_early(node: ast.stmt, conditions: List[str], scope: Scope) -> Iterator[Optional[Proposal]]:
    returns = [scope.text(s) for s in scope.donors.statements if isinstance(s, ast.Return)]
    exits = [text for text in dict.fromkeys([*EXITS, *returns]) if "\n" not in text]
    for condition in dict.fromkeys([*_empty_checks(scope), *conditions]):
        for leave in exits:
            yield scope.before(COST + 0.2, node, f"if {condition}:\n    {leave}")


def _empty_checks(scope: Scope) -> List[str]:
    return [c for name in scope.names for c in (f"not {name}", f"{name} is None", f"{name} == 0", f"{name} == 1")]


def _comparisons(scope: Scope) -> List[str]:
    pairs = [(one, other) for one in scope.names for other in scope.names if one != other]
    ordered = [f"{one} {op} {other}" for one, other in pairs if one < other for op in ("==", "!=", "<", ">")]
    return [*ordered, *(f"{one} not in {other}" for one, other in pairs)]
