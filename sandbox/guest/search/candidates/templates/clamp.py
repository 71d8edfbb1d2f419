"""A value that should stay within bounds: `max(x, 0)`, `min(x, limit)`."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.7
CHANGES = (
    ("def f(a, b):\n    return a - b\n", "def f(a, b):\n    return max(a - b, 0)\n"),
    ("def f(a, n):\n    return a[n - 1]\n", "def f(a, n):\n    return a[min(n - 1, len(a) - 1)]\n"),
    ("def f(a, n):\n    return a[:n]\n", "def f(a, n):\n    n = max(n, 0)\n    return a[:n]\n"),
)
UNTOUCHED = ("def f():\n    return 'a'\n",)

NUMBERS = (ast.BinOp, ast.Name, ast.Call, ast.Attribute, ast.Subscript)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Bound an expression from below or above, or a name before a statement."""
    if isinstance(node, NUMBERS) and scope.is_operand(node):
        numbers = frozenset(("int", "float"))
        kind = scope.infer_kind(node)
        if kind is None or kind.names & numbers:
            yield from _bound(node, scope)
    if isinstance(node, ast.stmt) and scope.is_inside(node) and scope.parent(node) is scope.root:
        for name in scope.names_with_type(node, "int", "float")[:8]:
            if name not in ("self", "cls"):
                for bound in ("0", "1"):
                    yield scope.before(COST + 0.4, node, f"{name} = max({name}, {bound})")
                for other in scope.names_with_type(node, "int", "float")[:6]:
                    if other != name:
                        yield scope.before(COST + 0.9, node, f"{name} = min({name}, {other})")


def _bound(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    text = scope.text(node)
    simple = 0.0 if isinstance(node, ast.BinOp) else 0.4
    for bound in ("0", "1"):
        yield scope.replace(COST + simple, node, f"max({text}, {bound})")
    for name in scope.names_with_type(node, "int", "float")[:8]:
        if name != text:
            yield scope.replace(COST + simple + 0.3, node, f"min({text}, {name})")
            yield scope.replace(COST + simple + 0.3, node, f"max({text}, {name})")
    parent = scope.parent(node)
    # An index can be clamped to the container's length.
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        whole = scope.text(parent.value)
        yield scope.replace(COST, node, f"min({text}, len({whole}) - 1)")
        yield scope.replace(
            COST + 0.2, node, f"{text} % len({whole})" if isinstance(node, ast.Name) else ""
        )
