"""A condition that is inverted, or tests truth where it should test for None."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import COMPARE, NOT
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.3
CHEAPEST = COST - 0.3
CHANGES = (
    ("def f(a):\n    if a:\n        return 1\n", "def f(a):\n    if not a:\n        return 1\n"),
    (
        "def f(a, b):\n    while a and b:\n        pass\n",
        "def f(a, b):\n    while not (a and b):\n        pass\n",
    ),
    (
        "def f(a, b):\n    if a and b:\n        return 1\n",
        "def f(a, b):\n    if a and not b:\n        return 1\n",
    ),
    ("def f(a):\n    return not a\n", "def f(a):\n    return a\n"),
    ("def f(a):\n    return -a\n", "def f(a):\n    return a\n"),
    (
        "def f(a):\n    if a:\n        return 1\n",
        "def f(a):\n    if a is not None:\n        return 1\n",
    ),
    (
        "def f(a, b):\n    if a > b:\n        return 1\n",
        "def f(a, b):\n    if b:\n        return 1\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Negate a condition, drop a sign, test for None, or use a bare name as the condition."""
    if isinstance(node, ast.UnaryOp):
        yield scope.replace(COST - 0.3, node, scope.text(node.operand))
    if not scope.is_value(node):
        return
    condition = scope.is_condition(node)
    returned = isinstance(scope.parent(node), ast.Return)
    if not condition and _is_part(node, scope):
        yield scope.replace(COST + 0.2, node, f"not {scope.part(node, NOT)}")
    if not condition and not (
        returned and isinstance(node, (ast.Compare, ast.BoolOp, ast.Constant, ast.Call))
    ):
        return
    yield scope.replace(COST, node, f"not {scope.part(node, NOT)}")
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        operand = scope.part(node, COMPARE + 1)
        yield scope.replace(COST + 0.2, node, f"{operand} is not None")
        yield scope.replace(COST + 0.5, node, f"{operand} is None")
    if condition:
        for name in scope.names_at(node):
            if scope.text(node) != name:
                yield scope.replace(COST + 0.9, node, name)


def _is_part(node: ast.AST, scope: CodeScope) -> bool:
    """Return True for an operand of `and` or `or` that is not negated or compared itself."""
    asked = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    return asked and isinstance(scope.parent(node), ast.BoolOp)
