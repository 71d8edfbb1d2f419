"""The wrong arithmetic or bitwise operator: `a - b` for `a + b`, also in `+=`."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import BINARY_LEVELS, OPERATOR_TEXT
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.2
CHANGES = (
    ("def f(a, b):\n    return a - b\n", "def f(a, b):\n    return a + b\n"),
    ("def f(n):\n    n ^= n - 1\n    return n\n", "def f(n):\n    n &= n - 1\n    return n\n"),
    ("def f(a, b):\n    return (a + b) * 2\n", "def f(a, b):\n    return (a + b) // 2\n"),
    ("def f(a, b):\n    return a * b * 2\n", "def f(a, b):\n    return (a * b) ** 2\n"),
)
UNTOUCHED = ("def f(a):\n    return not a\n", "def f(a, b):\n    return a < b\n")

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
BITS = (ast.BitAnd, ast.BitOr, ast.BitXor)
SHIFTS = (ast.LShift, ast.RShift)


NEAR = {
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add, ast.Pow, ast.FloorDiv), ast.Div: (ast.FloorDiv, ast.Mult, ast.Mod),
    ast.FloorDiv: (ast.Div, ast.Mod, ast.Mult), ast.Mod: (ast.FloorDiv, ast.Div),
    ast.Pow: (ast.Mult,), ast.BitAnd: BITS, ast.BitOr: BITS, ast.BitXor: BITS, ast.LShift: SHIFTS,
    ast.RShift: SHIFTS,
}  # fmt: skip
"""Operators that an operator is confused with most often."""


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Use every other operator of the same family."""
    if not isinstance(node, (ast.BinOp, ast.AugAssign)):
        return
    family = next((f for f in (ARITHMETIC, BITS, SHIFTS) if isinstance(node.op, f)), ())
    near = NEAR.get(type(node.op), ())
    others = [
        (COST if new in near else COST + 0.4, new) for new in family if not isinstance(node.op, new)
    ]
    if isinstance(node.op, BITS):
        others += [(COST + 1.3, ast.Add), (COST + 1.3, ast.Sub)]
    for cost, new in others:
        yield scope.operator(cost, node, new)
        if isinstance(node, ast.BinOp) and BINARY_LEVELS[new] != BINARY_LEVELS[type(node.op)]:
            # A changed operator may regroup the operands; this variant keeps their grouping.
            level = BINARY_LEVELS[new]
            left = scope.part(node.left, level + (new is ast.Pow))
            text = f"{left} {OPERATOR_TEXT[new]} {scope.part(node.right, level + 1)}"
            yield scope.replace(cost + 0.05, node, text)
