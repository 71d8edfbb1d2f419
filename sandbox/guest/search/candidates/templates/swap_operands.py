"""Operands or branches in the wrong order, grouped wrongly, or superfluous."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import BINARY_LEVELS, OPERATOR_TEXT
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.4
CHEAPEST = COST - 0.1
CHANGES = (
    ("def f(a, b):\n    return a - b\n", "def f(a, b):\n    return b - a\n"),
    ("def f(a, b):\n    return a + b\n", "def f(a, b):\n    return a\n"),
    ("def f(a, b, c):\n    return (a - b) / c\n", "def f(a, b, c):\n    return a - b / c\n"),
    ("def f(a, b, c):\n    return a - b / c\n", "def f(a, b, c):\n    return (a - b) / c\n"),
    ("def f(a, b):\n    return a if b else 0\n", "def f(a, b):\n    return 0 if b else a\n"),
    ("def f(a, b):\n    return a if b else 0\n", "def f(a, b):\n    return a\n"),
    ("def f(a, b):\n    return a + b + b + a\n", "def f(a, b):\n    return a + b\n"),
    ("def f(a, b):\n    return a ** 2 * b\n", "def f(a, b):\n    return a ** b\n"),
)
UNTOUCHED = ("def f(a, b):\n    return g(a, b)\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Swap the two sides, keep one of them, or group them the other way."""
    if isinstance(node, ast.BinOp):
        yield scope.swap(COST, node.left, node.right)
        yield scope.replace(COST - 0.1, node, scope.text(node.left))
        yield scope.replace(COST - 0.1, node, scope.text(node.right))
        yield from _regroup(node, scope)
        yield from _deeper(node, scope)
    if isinstance(node, ast.IfExp):
        yield scope.swap(COST, node.body, node.orelse)
        yield scope.replace(COST + 0.3, node, scope.text(node.body))
        yield scope.replace(COST + 0.3, node, scope.text(node.orelse))


def _deeper(node: ast.BinOp, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Drop several operands, keeping a nested one."""
    inner: ast.expr = node.left
    while isinstance(inner, ast.BinOp):
        yield scope.replace(COST + 0.4, node, scope.text(inner.left))
        yield scope.replace(COST + 0.6, node, scope.text(inner.right))
        inner = inner.left
    if isinstance(node.left, ast.BinOp):
        # `a ** b * c` without b: the outer operator is dropped, the inner one applies to a and c.
        level = BINARY_LEVELS[type(node.left.op)]
        right = scope.part(node.right, level + 1)
        yield scope.replace(
            COST + 0.5,
            node,
            f"{scope.part(node.left.left, level)} {OPERATOR_TEXT[type(node.left.op)]} {right}",
        )


def _regroup(node: ast.BinOp, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    outer, level = OPERATOR_TEXT[type(node.op)], BINARY_LEVELS[type(node.op)]
    if isinstance(node.left, ast.BinOp):
        first, inner, last = node.left.left, node.left.op, node.left.right
        inside = f"{scope.part(last, level)} {outer} {scope.part(node.right, level + 1)}"
        inner_level = BINARY_LEVELS[type(inner)]
        right = inside if level > inner_level else f"({inside})"
        yield scope.replace(
            COST + 1.0,
            node,
            f"{scope.part(first, inner_level)} {OPERATOR_TEXT[type(inner)]} {right}",
        )
    if isinstance(node.right, ast.BinOp):
        first, inner, last = node.right.left, node.right.op, node.right.right
        inside = f"{scope.part(node.left, level)} {outer} {scope.part(first, level + 1)}"
        inner_level = BINARY_LEVELS[type(inner)]
        left = inside if level >= inner_level else f"({inside})"
        text = f"{left} {OPERATOR_TEXT[type(inner)]} {scope.part(last, inner_level + 1)}"
        yield scope.replace(COST + 1.0, node, text)
