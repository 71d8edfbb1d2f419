"""A value that may be missing: `a or []`, `a if a is not None else b`, `a.b if a else None`."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import ATOM, OR
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.4
CHEAPEST = COST - 0.5
CHANGES = (
    ("def f(a):\n    return sorted(a)\n", "def f(a):\n    return sorted(a or [])\n"),
    ("def f(a, b):\n    return g(a)\n", "def f(a, b):\n    return g(a if a is not None else b)\n"),
    ("def f(a):\n    return a.b\n", "def f(a):\n    return a.b if a is not None else None\n"),
    ("def f(a):\n    return a.b\n", "def f(a):\n    return a and a.b\n"),
    (
        "def f(a):\n    return g(a)\n",
        "def f(a):\n    if a is None:\n        a = []\n    return g(a)\n",
    ),
    ("def f(a, b):\n    return g(a)\n", "def f(a, b):\n    return g(b or a)\n"),
    (
        (
            "from m import n\n\n\ndef f(a):\n    return a\n\n\ndef g(b):\n    b = n(b)\n"
            "    return b\n\n\ndef h(c):\n    c = n(c)\n    return c\n"
        ),
        (
            "from m import n\n\n\ndef f(a):\n    a = n(a)\n    return a\n\n\n"
            "def g(b):\n    b = n(b)\n    return b\n\n\n"
            "def h(c):\n    c = n(c)\n    return c\n"
        ),
    ),
    ("def f(a):\n    return a[0]\n", "def f(a):\n    return a[0] if a else None\n"),
)
UNTOUCHED = ("def f():\n    return 1\n",)

EMPTY = ("[]", "{}", "''", "0", "()")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Use a default in place of a value that is None or empty."""
    if isinstance(node, ast.stmt) and scope.is_inside(node):
        yield from _at_start(node, scope)
    if not isinstance(
        node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
    ) or not scope.is_operand(node):
        return
    # `a or []` has the same truth value as `a`.
    if scope.is_condition(node) or isinstance(scope.parent(node), ast.Compare):
        return
    text = scope.part(node, OR)
    for empty in EMPTY:
        yield scope.replace(COST + 0.2, node, f"{text} or {empty}")
    if not isinstance(node, ast.Call):
        for name in scope.names_at(node):
            if name != text:
                yield scope.replace(COST + 0.5, node, f"{text} if {text} is not None else {name}")
                yield scope.replace(COST + 0.5, node, f"{text} or {name}")
                yield scope.replace(COST + 0.7, node, f"{name} or {text}")
    yield from _if_there(node, scope)


def _if_there(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Access an attribute only if its owner is not None or empty."""
    called = node.func if isinstance(node, ast.Call) else node
    owner = getattr(called, "value", None)
    if not isinstance(owner, (ast.Name, ast.Attribute)):
        return
    base, whole = scope.part(owner, ATOM), scope.text(node)
    if base in ("self", "cls"):
        return
    for condition in (f"{base} is not None", base):
        for default in ("None", base, "''", "0", "[]"):
            extra = 0.2 if default == "None" else 0.6
            yield scope.replace(COST + extra, node, f"{whole} if {condition} else {default}")
    yield scope.replace(COST + 0.3, node, f"{base} and {whole}")


def _at_start(node: ast.stmt, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    _, index = scope.block(node)
    if scope.parent(node) is not scope.root or index > 1 or isinstance(node, ast.Expr):
        return
    for name in scope.parameters:
        if name not in ("self", "cls"):
            for empty in ("[]", "{}", "''", "0", "()"):
                yield scope.before(COST, node, f"if {name} is None:\n    {name} = {empty}")
            for rank, maker in enumerate(scope.normalisers):
                yield scope.before(COST - 0.5 + 0.1 * rank, node, f"{name} = {maker}({name})")
            for rank, maker in enumerate(("list", "dict", "set", *scope.wrappers)):
                yield scope.before(COST + 0.3 + 0.03 * rank, node, f"{name} = {maker}({name})")
