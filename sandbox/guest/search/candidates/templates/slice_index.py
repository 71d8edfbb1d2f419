"""A slice or an index that is missing, superfluous or wrongly bounded."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import ATOM, TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.0
CHEAPEST = COST - 0.4
CHANGES = (
    ("def f(a, k):\n    return g(a)\n", "def f(a, k):\n    return g(a[k:])\n"),
    ("def f(a, k):\n    return g(a)\n", "def f(a, k):\n    return g(a[:-1])\n"),
    ("def f(a):\n    return a[1:]\n", "def f(a):\n    return a[:]\n"),
    ("def f(a):\n    return a[:]\n", "def f(a):\n    return a[1:]\n"),
    ("def f(a):\n    return a[:]\n", "def f(a):\n    return a[::-1]\n"),
    ("def f(a, b):\n    return a[len(b):]\n", "def f(a, b):\n    return a[-len(b):]\n"),
    ("def f(a):\n    return a[0]\n", "def f(a):\n    return a\n"),
    ("def f(a):\n    return a\n", "def f(a):\n    return a[0]\n"),
)
UNTOUCHED = ("def f():\n    return 1\n", "import os\n\n\ndef f():\n    os.x()\n")


SHIFTS = {"1": ("2", "-1"), "-1": ("1", "-2"), "2": ("1", "3")}


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Add or remove a slice or an index, or change a bound."""
    if isinstance(node, ast.Slice):
        yield from _bounds(node, scope)
    if not scope.is_operand(node):
        return
    if isinstance(node, ast.Subscript):
        yield scope.replace(COST - 0.4, node, scope.text(node.value))
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        value = scope.part(node, ATOM)
        for bound in [*scope.names_with_type(node, "int"), "1", "-1", "2"]:
            if bound != value:
                extra = (
                    0.0
                    if not bound.isidentifier()
                    else 0.2
                    if scope.infer_name(bound, node)
                    else 0.35
                )
                yield scope.replace(COST + extra, node, f"{value}[{bound}:]")
                yield scope.replace(COST + extra, node, f"{value}[:{bound}]")
        for index in ("0", "-1", "1"):
            yield scope.replace(COST + 0.3, node, f"{value}[{index}]")
    if isinstance(node, (ast.ListComp, ast.Call)):
        value = scope.part(node, ATOM)
        for bound in ("1", "-1"):
            yield scope.replace(COST + 0.2, node, f"{value}[{bound}:]")
            yield scope.replace(COST + 0.2, node, f"{value}[:{bound}]")


def _bounds(node: ast.Slice, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    whole = scope.parent(node)
    while not isinstance(whole, ast.Subscript):
        whole = scope.parent(whole)
    # Slices of several dimensions are left alone.
    if isinstance(whole.slice, ast.Tuple):
        return
    start, end = scope.source.span(whole.value)[1], scope.source.span(whole)[1]
    now = [scope.text(bound) if bound else "" for bound in (node.lower, node.upper, node.step)]
    for index, old in enumerate(now):
        names = scope.names_with_type(whole, "int")
        values = (
            ["", *SHIFTS.get(old, ()), f"{old} + 1", f"{old} - 1", *names]
            if old
            else [*names, "1", "-1", "2"]
        )
        bounds = (node.lower, node.upper)
        if index < len(bounds) and isinstance(
            bounds[index], (ast.Call, ast.Name, ast.Attribute, ast.Subscript)
        ):
            values.append(f"-{old}")
        for value in values:
            lower, upper, step = [value if k == index else text for k, text in enumerate(now)]
            text = f"[{lower}:{upper}:{step}]" if step else f"[{lower}:{upper}]"
            cost = COST + 0.1 * bool(value) if old else COST + 0.2
            cost = COST - 0.4 if value == f"-{old}" else cost
            yield ProposedEdits(cost, (TextEdit(start, end, text),))
