"""A wrong return value: another value of a small grammar, or two boolean results swapped."""

from __future__ import annotations

import ast
import itertools
from typing import Iterator, Optional

from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.0
CHEAPEST = COST - 0.5
CHANGES = (
    ("def f(a, b):\n    return a\n", "def f(a, b):\n    return [b]\n"),
    ("def f(a, b):\n    return a + b\n", "def f(a, b):\n    return None\n"),
    ("def f(a):\n    return True\n", "def f(a):\n    return a == 0\n"),
    (
        "def f(a):\n    if a:\n        return True\n    return False\n",
        "def f(a):\n    if a:\n        return False\n    return True\n",
    ),
    ("def f(a):\n    b = a\n", "def f(a):\n    b = a\n    return b\n"),
    ("def f(a, b):\n    g(a, b)\n", "def f(a, b):\n    return g(a, b)\n"),
)
UNTOUCHED = ("x = 1\n",)

FORMS = ("[{}]", "{} == 0", "{} > 0", "not {}", "len({})")
PLAIN = ("True", "False", "None", "0", "1", "-1", "[]", "''", "{}")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Return a name, a test of it, or a plain value; return the value of the last call."""
    if node is scope.root and scope.is_function:
        yield from _exchange(scope)
    if isinstance(node, ast.Return) and node.value is not None:
        names = scope.names_at(node)
        made = [(0.4, form.format(name)) for name in names for form in FORMS]
        for extra, text in [*((0.0, text) for text in (*names, *PLAIN)), *made]:
            if text != scope.text(node.value):
                yield scope.replace(COST + extra, node.value, text)
    if isinstance(node, ast.stmt) and scope.is_inside(node):
        block, index = scope.block(node)
        ends = index == len(block) - 1 and scope.parent(node) is scope.root
        if ends and not isinstance(node, (ast.Return, ast.Raise)):
            for name in scope.names_at(node, behind=True):
                yield scope.after(COST, node, f"return {name}")
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and scope.is_function:
        yield scope.restate(COST - 0.4, node, f"return {scope.text(node.value)}")


def _exchange(scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    values = [n.value for n in scope.nodes if isinstance(n, ast.Return)]
    flags = [
        value
        for value in values
        if isinstance(value, ast.Constant) and isinstance(value.value, bool)
    ]
    for one, other in itertools.combinations(flags, 2):
        if one.value != other.value:
            yield scope.swap(COST - 0.5, one, other)
