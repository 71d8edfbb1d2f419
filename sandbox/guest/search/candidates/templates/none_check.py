"""A truth test where a test for None is meant: `if a and b`, `a or b`, `x == None`."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import ATOM, COMPARE
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.6
CHEAPEST = COST - 0.3
CHANGES = (
    (
        "def f(a, b):\n    if a and b:\n        return 1\n",
        "def f(a, b):\n    if a is not None and b:\n        return 1\n",
    ),
    (
        "def f(a):\n    if not a:\n        return 1\n",
        "def f(a):\n    if a is None:\n        return 1\n",
    ),
    (
        "def f(a):\n    if not a:\n        return 1\n",
        "def f(a):\n    if a == 0:\n        return 1\n",
    ),
    ("def f(a):\n    return a or g()\n", "def f(a):\n    return a if a is not None else g()\n"),
    ("def f(a):\n    return a or g()\n", "def f(a):\n    return g() if a is None else a\n"),
    ("def f(a):\n    return a == None\n", "def f(a):\n    return a is None\n"),
    (
        "def f(a):\n    if a is not None:\n        return 1\n",
        "def f(a):\n    if a:\n        return 1\n",
    ),
    (
        "def f(a):\n    if a:\n        return 1\n",
        "def f(a):\n    if len(a) > 1:\n        return 1\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)

ASKED = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.NamedExpr)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Exchange truth tests and tests for None."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
        first, second = node.values
        if isinstance(first, (ast.Name, ast.Attribute, ast.Subscript)):
            mine, other = scope.text(first), scope.text(second)
            yield scope.replace(COST + 0.2, node, f"{mine} if {mine} is not None else {other}")
            yield scope.replace(COST + 0.3, node, f"{other} if {mine} is None else {mine}")
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _comparison(node, scope)
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.Not)
        and isinstance(node.operand, ASKED)
    ):
        yield scope.replace(COST - 0.1, node, f"{scope.part(node.operand, COMPARE + 1)} is None")
        yield scope.replace(COST + 0.5, node, f"{scope.part(node.operand, COMPARE + 1)} == 0")
    if isinstance(node, ASKED) and _is_asked(node, scope):
        value = scope.part(node, COMPARE + 1)
        if isinstance(scope.parent(node), ast.BoolOp):
            yield scope.replace(COST - 0.1, node, f"{value} is not None")
            yield scope.replace(COST + 0.4, node, f"{value} is None")
        text = scope.text(node)
        if not isinstance(node, ast.NamedExpr):
            # Rare meanings of a truth test cost more.
            yield scope.replace(COST + 0.9, node, f"len({text}) > 1")
            yield scope.replace(COST + 1.0, node, f"len({text}) == 1")
            yield scope.replace(COST + 1.0, node, f"isinstance({text}, str)")


def _comparison(node: ast.Compare, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    side = node.comparators[0]
    left = scope.part(node.left, COMPARE + 1)
    if isinstance(side, ast.Constant) and side.value is None:
        if isinstance(node.ops[0], (ast.Eq, ast.Is)):
            yield scope.replace(COST - 0.3, node, f"{left} is None")
            yield scope.replace(COST, node, f"not {left}")
        else:
            yield scope.replace(COST - 0.3, node, f"{left} is not None")
            yield scope.replace(COST, node, scope.part(node.left, ATOM))


def _is_asked(node: ast.AST, scope: CodeScope) -> bool:
    """Return True if the truth value of a node decides a condition."""
    place = scope.place(node)
    return scope.is_condition(node) or (
        isinstance(place.parent, ast.BoolOp) and place.field == "values"
    )
