"""`=` for `+=`, `+=` for `=`, a call whose result was meant to be kept."""

from __future__ import annotations

import ast
from typing import Iterator, Optional, Tuple

from sandbox.guest.search.source.render import ATOM, OPERATOR_TEXT, Edit
from sandbox.guest.search.source.scope import Proposal, Scope

COST = 2.0
CHEAPEST = COST - 0.6
LOST = {"+=": -0.6, "|=": -0.2, "-=": 0.0, "&=": 0.2, "*=": 0.3}
"""What operators cost besides where a value would be lost that nobody has read."""
CHANGES = (
    ("def f(a, b):\n    a += b\n    return a\n", "def f(a, b):\n    a = b\n    return a\n"),
    ("def f(a, b):\n    a = b\n    return a\n", "def f(a, b):\n    a += b\n    return a\n"),
    ("def f(a):\n    a = 1\n    return a\n", "def f(a):\n    a -= 1\n    return a\n"),
    ("def f(a, b, c):\n    a.update(b, c)\n", "def f(a, b, c):\n    a = b\n"),
    ("def f(a):\n    a = g(a)\n    a = '.'\n    return a\n", "def f(a):\n    a = g(a)\n    a += '.'\n    return a\n"),
    (
        "def f(a, b):\n    c = g(a)\n    c = g(b)\n    return c\n",
        "def f(a, b):\n    c = g(a)\n    c &= g(b)\n    return c\n",
    ),
    ("def f(a):\n    a.strip()\n    return a\n", "def f(a):\n    a = a.strip()\n    return a\n"),
    ("def f(a, b):\n    a += b\n    return a\n", "def f(a, b):\n    a = b + a\n    return a\n"),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n", "def f(a, b):\n    (a, b) = (1, 2)\n")


def propose(node: ast.AST, scope: Scope) -> Iterator[Optional[Proposal]]:
    """Exchange the kinds of assignment; assign what a call only passed on."""
    if isinstance(node, ast.AugAssign):
        edit = scope.gap(node.target, node.value, OPERATOR_TEXT[type(node.op)] + "=", "=")
        yield Proposal(COST, (edit,)) if edit else None
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
            yield Proposal(cost, (edit,)) if edit else None
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from _assigned(node, node.value, scope)


def _loses(node: ast.Assign, scope: Scope) -> bool:
    """Whether a name had a value before that nothing has read since."""
    target = node.targets[0]
    if not isinstance(target, ast.Name) or target.id not in scope.names_at(target):
        return False
    mentions = [n for n in scope.nodes if isinstance(n, ast.Name) and n.id == target.id]
    before = [n for n in mentions if (n.lineno, n.col_offset) < (node.lineno, node.col_offset)]
    last = max(before, key=lambda n: _moment(n, scope), default=None)
    inside = any(isinstance(n, ast.Name) and n.id == target.id for n in ast.walk(node.value))
    return not inside and (last is None or isinstance(last.ctx, ast.Store))


def _moment(name: ast.Name, scope: Scope) -> Tuple[int, int]:
    """When a name is read or bound in the order of the text; what an assignment binds it binds last."""
    parent = scope.parent(name)
    if isinstance(parent, ast.Assign) and isinstance(name.ctx, ast.Store):
        return parent.end_lineno or name.lineno, parent.end_col_offset or name.col_offset
    return name.lineno, name.col_offset


def _cost(target: ast.expr, value: ast.expr, operator: str, scope: Scope) -> float:
    """What was there before is more likely changed than replaced by a number."""
    number = isinstance(value, ast.Constant) and type(value.value) is int and value.value != 0
    before = not isinstance(target, ast.Name) or target.id in scope.names_at(target)
    return COST - 0.2 if number and before and operator in ("+=", "-=") else COST + 0.5


def _assigned(node: ast.Expr, call: ast.Call, scope: Scope) -> Iterator[Optional[Proposal]]:
    """`x.update(y)` becomes `x = y`; `x[k].update(y)` becomes `x[k] = y`; `f(x)` becomes `x = f(x)`."""
    start, end = scope.source.span(node)
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, (ast.Name, ast.Subscript, ast.Attribute)):
        for argument in call.args[:2]:
            if not isinstance(argument, ast.Starred):
                text = f"{scope.text(function.value)} = {scope.text(argument)}"
                yield Proposal(COST, (Edit(start, end, text),))
    if isinstance(function, ast.Attribute) and isinstance(function.value, (ast.Name, ast.Attribute)):
        # `s.strip()` alone does nothing: its result was meant to be kept.
        yield Proposal(COST - 0.2, (Edit(start, end, f"{scope.text(function.value)} = {scope.text(call)}"),))
    for argument in call.args[:2]:
        if isinstance(argument, ast.Name):
            yield Proposal(COST + 0.4, (Edit(start, end, f"{argument.id} = {scope.text(call)}"),))
