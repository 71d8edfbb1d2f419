"""`return` for `yield`, `yield` for `yield from`, or a missing `return`."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.8
CHANGES = (
    (
        "def f(a):\n    for x in a:\n        return x\n",
        "def f(a):\n    for x in a:\n        yield x\n",
    ),
    ("def f(a):\n    yield a\n", "def f(a):\n    return a\n"),
    ("def f(a):\n    yield a\n", "def f(a):\n    yield from a\n"),
    ("def f(a):\n    yield from a\n", "def f(a):\n    yield a\n"),
    ("def f(a, b):\n    return a\n", "def f(a, b):\n    return a, b\n"),
    (
        "def f(a, b):\n    if a:\n        return\n    return b\n",
        "def f(a, b):\n    if a:\n        return b\n    return b\n",
    ),
    (
        "def f(a, b):\n    if a:\n        b = 1\n    return b\n",
        "def f(a, b):\n    if a:\n        return 1\n    return b\n",
    ),
    (
        "def f(a):\n    if a:\n        g(a)\n        return\n",
        "def f(a):\n    if a:\n        return g(a)\n        return\n",
    ),
)
UNTOUCHED = ("class A:\n    x = 1\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Exchange `return` and `yield`; return an assigned value or the result of a call."""
    if not isinstance(node, ast.stmt) or not scope.is_inside(node):
        return
    if isinstance(node, ast.Return):
        yield from _return(node, scope)
    elif isinstance(node, ast.Expr):
        value = node.value
        if isinstance(value, ast.Yield) and value.value is not None:
            yield scope.restate(COST, node, f"yield from {scope.text(value.value)}")
            yield scope.restate(COST + 0.2, node, f"return {scope.text(value.value)}")
        elif isinstance(value, ast.YieldFrom):
            yield scope.restate(COST, node, f"yield {scope.text(value.value)}")
            yield scope.restate(COST + 0.2, node, f"return {scope.text(value.value)}")
        elif isinstance(value, (ast.Call, ast.Await)):
            yield scope.restate(COST, node, f"return {scope.text(value)}")
            yield scope.restate(COST + 0.8, node, f"yield {scope.text(value)}")
    elif isinstance(node, ast.Assign):
        yield scope.restate(COST + 0.4, node, f"return {scope.text(node.value)}")


def _return(node: ast.Return, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    names = scope.names_at(node)
    if node.value is None:
        for text in [*names, "False", "True", "[]", "0", "''", "{}"]:
            yield scope.restate(COST + 0.2, node, f"return {text}")
        return
    text = scope.text(node.value)
    yield scope.restate(COST + 0.2, node, f"yield {text}")
    yield scope.restate(COST + 0.4, node, f"yield from {text}")
    # A tuple already returns several values.
    if not isinstance(node.value, ast.Tuple):
        for name in names[:8]:
            if name != text:
                yield scope.restate(COST + 0.8, node, f"return {text}, {name}")
