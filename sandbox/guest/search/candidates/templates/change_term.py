"""A missing term of a calculation: a factor, a sign, a summand."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import ATOM, AWAIT, SUM, TERM, UNARY
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.4
CHEAPEST = COST - 0.4
CHANGES = (
    ("def f(a):\n    return a.x\n", "def f(a):\n    return a.x // 2\n"),
    ("def f(a, b):\n    return a\n", "def f(a, b):\n    return a - b\n"),
    ("def f(a, b):\n    return a\n", "def f(a, b):\n    return -a\n"),
    ("def f(a, b):\n    return g(a)\n", "def f(a, b):\n    return g(a) + [b]\n"),
    (
        "def f(a, b, k):\n    x = a\n    b[k] = x\n",
        "def f(a, b, k):\n    x = a - b[k]\n    b[k] = x\n",
    ),
    (
        "def f(a, b):\n    b = a * 2\n    return b\n",
        "def f(a, b):\n    b = b + a * 2\n    return b\n",
    ),
    ("def f(a, b):\n    return a + b\n", "def f(a, b):\n    return a + ' ' + b\n"),
)
UNTOUCHED = ("def f():\n    pass\n", "import os\n\n\ndef f():\n    os.x()\n")

NO_NUMBER = (
    ast.Compare, ast.BoolOp, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.GeneratorExp,
    ast.SetComp, ast.DictComp, ast.Constant, ast.Lambda,
)  # fmt: skip
FACTORS = (
    (" // 2", TERM),
    (" / 2", TERM),
    (" * 2", TERM),
    (" ** 2", AWAIT),
    (" ** 3", AWAIT),
    (" % 2", TERM),
)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Add an operand: a small factor, a sign, a name, or another expression of the function."""
    if not scope.is_operand(node) or not isinstance(node, ast.expr):
        return
    if not isinstance(node, NO_NUMBER):
        for factor, level in FACTORS:
            yield scope.replace(COST, node, scope.part(node, level) + factor)
        yield scope.replace(COST - 0.4, node, f"-{scope.part(node, UNARY)}")
        for name in scope.names_at(node):
            for sign, level in (("+", SUM), ("-", SUM), ("*", TERM)):
                yield scope.replace(COST + 0.6, node, f"{scope.part(node, level)} {sign} {name}")
            yield scope.replace(COST + 0.6, node, f"{name} + {scope.part(node, TERM)}")
    place = scope.place(node)
    if isinstance(place.parent, ast.Return) or (
        isinstance(place.parent, (ast.Assign, ast.AugAssign)) and place.field == "value"
    ):
        yield from _sums(node, scope)


def _sums(node: ast.expr, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    parent = scope.parent(node)
    left, right = scope.part(node, SUM), scope.part(node, TERM)
    if (
        isinstance(parent, ast.Assign)
        and len(parent.targets) == 1
        and isinstance(parent.targets[0], ast.Name)
    ):
        yield scope.replace(COST + 0.1, node, f"{parent.targets[0].id} + {right}")
    for donor in scope.donors.expressions:
        if not isinstance(donor, ast.Constant) or isinstance(donor.value, str):
            yield scope.replace(COST + 0.6, node, f"{left} + {scope.part(donor, TERM)}")
            yield scope.replace(COST + 0.6, node, f"{scope.part(donor, SUM)} + {right}")
            if isinstance(donor, (ast.Subscript, ast.Attribute, ast.Call)):
                likely = isinstance(donor, ast.Subscript) and isinstance(node, ast.Name)
                yield scope.replace(
                    COST + (0.2 if likely else 0.7), node, f"{left} - {scope.part(donor, TERM)}"
                )
    for name in scope.names_at(node)[:8]:
        yield scope.replace(COST + 0.7, node, f"{left} + [{name}]")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        first, second = scope.part(node.left, SUM), scope.part(node.right, ATOM)
        for text in sorted({*scope.strings, " ", ".", ","})[:12]:
            yield scope.replace(COST + 0.8, node, f"{first} + {text!r} + {second}")
