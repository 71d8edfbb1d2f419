"""A name where a small expression of names belongs: `a[i]`, `len(a)`, `-a`, `a + b`."""

from __future__ import annotations

import ast
from typing import FrozenSet, Iterator, List, Optional, Tuple

from sandbox.guest.search.source.kinds import INDEXED, may_be
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 3.0
CHANGES = (
    ("def f(a, i, b):\n    return g(b)\n", "def f(a, i, b):\n    return g(a[i])\n"),
    ("def f(a, b):\n    return b\n", "def f(a, b):\n    return len(a)\n"),
    ("def f(a, b):\n    return b\n", "def f(a, b):\n    return -a\n"),
    ("def f(a, b, c):\n    return c\n", "def f(a, b, c):\n    return a + b\n"),
    ("def f(a, b, c):\n    return max(g(a))\n", "def f(a, b, c):\n    return -c\n"),
)
UNTOUCHED = ("def f(a):\n    pass\n",)

Expression = Tuple[float, str, Optional[FrozenSet[str]]]
REPLACED = (ast.Name, ast.Call, ast.Subscript, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.Constant)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Replace an expression by one operator over names in scope, of a compatible type."""
    if not isinstance(node, REPLACED) or not scope.is_value(node) or not scope.is_function:
        return
    if isinstance(scope.parent(node), (ast.BinOp, ast.UnaryOp)) and isinstance(
        node, (ast.BinOp, ast.UnaryOp)
    ):
        return
    wanted = scope.infer_kind(node)
    own = scope.text(node)
    for extra, text, numeric in _build_expressions(node, scope):
        if text != own and (wanted is None or numeric is None or may_be(wanted, numeric)):
            yield scope.replace(COST + extra, node, text)


def _build_expressions(node: ast.expr, scope: CodeScope) -> List[Expression]:
    numbers = frozenset(("int", "float", "bool"))
    # The number of expressions grows with the square of the names.
    names = [n for n in scope.names_at(node) if n not in ("self", "cls")][:10]
    holders = [n for n in names if may_be(scope.infer_name(n, node), INDEXED)]
    keys = [n for n in names if may_be(scope.infer_name(n, node), frozenset(("int", "str")))]
    counts = [n for n in names if may_be(scope.infer_name(n, node), numbers)]
    found: List[Expression] = [(0.0, f"-{name}", numbers) for name in counts]
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
                    found += [
                        (0.4, f"{one} + {other}", numbers),
                        (0.5, f"{one} * {other}", numbers),
                    ]
                    found += [
                        (0.5, f"max({one}, {other})", numbers),
                        (0.5, f"min({one}, {other})", numbers),
                    ]
    return found
