"""A name where a small expression of names belongs: `a[i]`, `len(a)`, `-a`, `a + b`."""

from __future__ import annotations

import ast
from typing import FrozenSet, Iterator, List, Optional, Tuple

from sandbox.guest.search.source.kinds import INDEXED, may_be
from sandbox.guest.search.source.scope import Proposal, Scope

COST = 3.0
CHANGES = (
    ("def f(a, i, b):\n    return g(b)\n", "def f(a, i, b):\n    return g(a[i])\n"),
    ("def f(a, b):\n    return b\n", "def f(a, b):\n    return len(a)\n"),
    ("def f(a, b):\n    return b\n", "def f(a, b):\n    return -a\n"),
    ("def f(a, b, c):\n    return c\n", "def f(a, b, c):\n    return a + b\n"),
    ("def f(a, b, c):\n    return max(g(a))\n", "def f(a, b, c):\n    return -c\n"),
)
UNTOUCHED = ("def f(a):\n    pass\n",)

Made = Tuple[float, str, Optional[FrozenSet[str]]]
REPLACED = (ast.Name, ast.Call, ast.Subscript, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.Constant)


def propose(node: ast.AST, scope: Scope) -> Iterator[Optional[Proposal]]:
    """Expressions of one operator over the names in scope, of a fitting kind."""
    if not isinstance(node, REPLACED) or not scope.is_value(node) or not scope.is_function:
        return
    if isinstance(scope.parent(node), (ast.BinOp, ast.UnaryOp)) and isinstance(node, (ast.BinOp, ast.UnaryOp)):
        return
    wanted = scope.kind_of(node)
    own = scope.text(node)
    for extra, text, numeric in _made(node, scope):
        if text != own and (wanted is None or numeric is None or may_be(wanted, numeric)):
            yield scope.replace(COST + extra, node, text)


def _made(node: ast.expr, scope: Scope) -> List[Made]:
    numbers = frozenset(("int", "float", "bool"))
    names = [n for n in scope.names_at(node) if n not in ("self", "cls")][:10]
    holders = [n for n in names if may_be(scope.kind_of_name(n, node), INDEXED)]
    keys = [n for n in names if may_be(scope.kind_of_name(n, node), frozenset(("int", "str")))]
    counts = [n for n in names if may_be(scope.kind_of_name(n, node), numbers)]
    found: List[Made] = [(0.0, f"-{name}", numbers) for name in counts]
    for name in holders:
        found += [(0.0, f"len({name})", numbers), (0.2, f"len({name}) - 1", numbers)]
        for key in keys:
            if key != name:
                found += [
                    (0.1, f"{name}[{key}]", None),
                    (0.5, f"{name}[{key} - 1]", None),
                    (0.5, f"{name}[{key} + 1]", None),
                ]
        found += [(0.3, f"{name}[0]", None), (0.3, f"{name}[-1]", None)]
    for one in counts:
        for other in counts:
            if one != other:
                found.append((0.4, f"{one} - {other}", numbers))
                if one < other:
                    found += [(0.4, f"{one} + {other}", numbers), (0.5, f"{one} * {other}", numbers)]
                    found += [(0.5, f"max({one}, {other})", numbers), (0.5, f"min({one}, {other})", numbers)]
    return found
