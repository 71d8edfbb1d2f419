"""A missing or superfluous attribute: `a` for `a.name`, `a.b.c` for `a.c`, `x.f` for `x.f()`."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.0
CHANGES = (
    ("def f(a):\n    g(a.name)\n    return a\n", "def f(a):\n    g(a.name)\n    return a.name\n"),
    ("def f(a):\n    return a.b.c\n", "def f(a):\n    return a.c\n"),
    ("def f(a):\n    return a.b\n", "def f(a):\n    return a\n"),
    ("def f(a):\n    return a.items\n", "def f(a):\n    return a.items()\n"),
    ("def f(a):\n    return a.items()\n", "def f(a):\n    return a.items\n"),
    (
        "def f(a):\n    return a\n\n\ndef g(a):\n    return a.size\n",
        "def f(a):\n    return a.size\n\n\ndef g(a):\n    return a.size\n",
    ),
    ("def f(a):\n    return g(a)\n", "def f(a):\n    return g\n"),
)
UNTOUCHED = ("def f(a, b):\n    return 1\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Add or drop an attribute access or a call."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield from _shorter(node, scope)
    if isinstance(node, (ast.Name, ast.Attribute)) and scope.is_value(node):
        yield from _longer(node, scope)
        if not isinstance(node, ast.Name):
            yield scope.replace(COST - 0.2, node, f"{scope.text(node)}()")
        # A value of known type is no function.
        elif scope.infer_kind(node) is None:
            yield scope.replace(COST + 0.6, node, f"{scope.text(node)}()")
    if (
        isinstance(node, ast.Call)
        and scope.is_value(node)
        and not node.keywords
        and len(node.args) <= 1
    ):
        yield scope.replace(COST + 0.1 + 0.6 * len(node.args), node, scope.text(node.func))


def _shorter(node: ast.Attribute, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    start, end = scope.source.span(node)
    base = scope.source.span(node.value)
    if isinstance(node.value, ast.Attribute):
        inner = scope.source.span(node.value.value)
        rest = scope.source.data[base[1] : end].decode("utf-8")
        yield ProposedEdits(
            COST,
            (TextEdit(start, end, scope.source.data[inner[0] : inner[1]].decode("utf-8") + rest),),
        )
    if scope.is_value(node):
        yield scope.replace(COST - 0.1, node, scope.text(node.value))


def _longer(node: ast.Name | ast.Attribute, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    text = scope.text(node)
    last = node.attr if isinstance(node, ast.Attribute) else node.id
    near, far = scope.surroundings.attributes_read(last)
    for rank, name in enumerate(near[:12]):
        yield scope.replace(COST + 0.03 * rank, node, f"{text}.{name}")
    kind = scope.infer_kind(node)
    if kind is None:
        for rank, name in enumerate(far[:10]):
            yield scope.replace(COST + 0.8 + 0.03 * rank, node, f"{text}.{name}")


CHEAPEST = COST - 0.2
