"""`=` for `+=`, `+=` for `=`, or a call whose result should have been assigned."""

from __future__ import annotations

import ast
from typing import Iterator, Optional, Tuple

from sandbox.guest.search.source.render import ATOM, OPERATOR_TEXT, TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.0
CHEAPEST = COST - 0.6
LOST = {"+=": -0.6, "|=": -0.2, "-=": 0.0, "&=": 0.2, "*=": 0.3}
"""Additional cost by operator where the old value is overwritten without having been read."""
CHANGES = (
    ("def f(a, b):\n    a += b\n    return a\n", "def f(a, b):\n    a = b\n    return a\n"),
    ("def f(a, b):\n    a = b\n    return a\n", "def f(a, b):\n    a += b\n    return a\n"),
    ("def f(a):\n    a = 1\n    return a\n", "def f(a):\n    a -= 1\n    return a\n"),
    ("def f(a, b, c):\n    a.update(b, c)\n", "def f(a, b, c):\n    a = b\n"),
    (
        "def f(a):\n    a = g(a)\n    a = '.'\n    return a\n",
        "def f(a):\n    a = g(a)\n    a += '.'\n    return a\n",
    ),
    (
        "def f(a, b):\n    c = g(a)\n    c = g(b)\n    return c\n",
        "def f(a, b):\n    c = g(a)\n    c &= g(b)\n    return c\n",
    ),
    ("def f(a):\n    a.strip()\n    return a\n", "def f(a):\n    a = a.strip()\n    return a\n"),
    ("def f(a, b):\n    a += b\n    return a\n", "def f(a, b):\n    a = b + a\n    return a\n"),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n", "def f(a, b):\n    (a, b) = (1, 2)\n")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Exchange `=` and augmented assignment; assign the result of a call."""
    if isinstance(node, ast.AugAssign):
        edit = scope.gap(node.target, node.value, OPERATOR_TEXT[type(node.op)] + "=", "=")
        yield ProposedEdits(COST, (edit,)) if edit else None
        sign = OPERATOR_TEXT[type(node.op)]
        target, value = scope.text(node.target), scope.part(node.value, ATOM)
        yield scope.restate(COST + 0.4, node, f"{target} = {value} {sign} {target}")
    if (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and not isinstance(node.targets[0], (ast.Tuple, ast.List))
    ):
        lost = _loses(node, scope)
        for operator in LOST if lost else ("+=", "-=", "*=", "|="):
            edit = scope.gap(node.targets[0], node.value, "=", operator)
            cost = _cost(node.targets[0], node.value, operator, scope)
            cost = min(cost, COST + LOST[operator]) if lost else cost
            yield ProposedEdits(cost, (edit,)) if edit else None
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from _assign(node, node.value, scope)


def _loses(node: ast.Assign, scope: CodeScope) -> bool:
    """Return True if the assignment overwrites a value that was never read."""
    target = node.targets[0]
    if not isinstance(target, ast.Name) or target.id not in scope.names_at(target):
        return False
    mentions = [n for n in scope.nodes if isinstance(n, ast.Name) and n.id == target.id]
    # Source order approximates execution order; outside loops they agree.
    before = [n for n in mentions if (n.lineno, n.col_offset) < (node.lineno, node.col_offset)]
    last = max(before, key=lambda n: _moment(n, scope), default=None)
    inside = any(isinstance(n, ast.Name) and n.id == target.id for n in ast.walk(node.value))
    return not inside and (last is None or isinstance(last.ctx, ast.Store))


def _moment(name: ast.Name, scope: CodeScope) -> Tuple[int, int]:
    """Return the position at which a name is read or bound, in source order.

    An assignment binds its target after it evaluates its value.
    """
    parent = scope.parent(name)
    if isinstance(parent, ast.Assign) and isinstance(name.ctx, ast.Store):
        return parent.end_lineno or name.lineno, parent.end_col_offset or name.col_offset
    return name.lineno, name.col_offset


def _cost(target: ast.expr, value: ast.expr, operator: str, scope: CodeScope) -> float:
    """Return the cost; adding a number to an existing value is likelier than replacing it."""
    number = isinstance(value, ast.Constant) and type(value.value) is int and value.value != 0
    before = not isinstance(target, ast.Name) or target.id in scope.names_at(target)
    return COST - 0.2 if number and before and operator in ("+=", "-=") else COST + 0.5


def _assign(node: ast.Expr, call: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Assign the argument or the result of a call: `x = y` or `x = x.f(y)` for `x.f(y)`."""
    start, end = scope.source.span(node)
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(
        function.value, (ast.Name, ast.Subscript, ast.Attribute)
    ):
        for argument in call.args[:2]:
            if not isinstance(argument, ast.Starred):
                text = f"{scope.text(function.value)} = {scope.text(argument)}"
                yield ProposedEdits(COST, (TextEdit(start, end, text),))
    if isinstance(function, ast.Attribute) and isinstance(
        function.value, (ast.Name, ast.Attribute)
    ):
        # `s.strip()` on its own has no effect, so its result should have been assigned.
        yield ProposedEdits(
            COST - 0.2,
            (TextEdit(start, end, f"{scope.text(function.value)} = {scope.text(call)}"),),
        )
    for argument in call.args[:2]:
        if isinstance(argument, ast.Name):
            yield ProposedEdits(
                COST + 0.4, (TextEdit(start, end, f"{argument.id} = {scope.text(call)}"),)
            )
