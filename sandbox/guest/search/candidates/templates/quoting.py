"""A name in quotes, or a word without them."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.8
CHANGES = (
    ("def f(text):\n    return g('text')\n", "def f(text):\n    return g(text)\n"),
    ("def f(text):\n    return g('text')\n", "def f(text):\n    return g(text.encode())\n"),
    ("def f(a, size):\n    return a[size]\n", "def f(a, size):\n    return a['size']\n"),
    ("def f(a):\n    return a.size\n", "def f(a):\n    return a['size']\n"),
    ("def f(a):\n    return a['size']\n", "def f(a):\n    return a.size\n"),
    ("def f(a):\n    return b'x' in a\n", "def f(a):\n    return 'x' in a\n"),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Add or remove quotes; exchange subscripts and attributes, and bytes and text."""
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (str, bytes))
        and scope.is_value(node)
    ):
        if isinstance(node.value, str) and node.value in scope.names_at(node):
            # A string equal to a variable's name was probably meant as the variable.
            yield scope.replace(COST - 0.4, node, node.value)
            yield scope.replace(COST, node, f"{node.value}.encode()")
        text = scope.text(node)
        yield scope.replace(COST + 0.4, node, text[1:] if text[:1] in "bB" else f"b{text}")
    if (
        isinstance(node, ast.Name)
        and scope.is_value(node)
        and isinstance(scope.parent(node), (ast.Subscript, ast.Call))
    ):
        yield scope.replace(COST + 0.2, node, repr(node.id))
    if isinstance(node, ast.Attribute) and scope.is_value(node):
        yield scope.replace(COST + 0.4, node, f"{scope.text(node.value)}[{node.attr!r}]")
    if isinstance(node, ast.Subscript) and scope.is_value(node):
        key = node.slice
        if (
            isinstance(key, ast.Constant)
            and isinstance(key.value, str)
            and key.value.isidentifier()
        ):
            yield scope.replace(COST + 0.4, node, f"{scope.text(node.value)}.{key.value}")


CHEAPEST = COST - 0.4
