"""UnboundLocalError: a local read before assignment, in a branch or loop or without `global`."""

from __future__ import annotations

import ast
import re
from typing import Iterator, List

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.outer_scope import outer_names, top_of_body
from sandbox.guest.search.source.scope import FunctionNode
from sandbox.guest.search.source.texts import close_names

COST = 0.5
CHANGES = (
    (
        "UnboundLocalError: local variable 'n' referenced before assignment",
        6,
        "n = 0\n\n\ndef f():\n    '''Doc.'''\n    n += 1\n    return n\n",
        "n = 0\n\n\ndef f():\n    '''Doc.'''\n    global n\n    n += 1\n    return n\n",
    ),
    (
        (
            "UnboundLocalError: cannot access local variable 'x' where it is not associated with "
            "a value"
        ),
        4,
        "def f(a):\n    for i in a:\n        x = i\n    return x\n",
        "def f(a):\n    x = None\n    for i in a:\n        x = i\n    return x\n",
    ),
    (
        "UnboundLocalError: local variable 'x' referenced before assignment",
        4,
        "def f(a):\n    if a:\n        x = []\n    return x\n",
        "def f(a):\n    x = []\n    if a:\n        x = []\n    return x\n",
    ),
)
UNTOUCHED = (("NameError: name 'x' is not defined", 2, "def f():\n    return x\n"),)

BEGINNINGS = ("None", "0", "[]", "''", "{}", "False", "True", "1", "set()", "()")


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Initialize the name, declare it `global` or `nonlocal`, or use another name."""
    if view.failure.kind not in ("UnboundLocalError", "NameError") or not view.spots:
        return
    found = re.search(r"(?:local variable|free variable) '(\w+)'", view.failure.message)
    spot = view.spots[0]
    function = spot.function
    if not found or not isinstance(function, FunctionNode):
        return
    name = found.group(1)
    # The assignment in the function hides the global of the same name.
    if name in outer_names(spot.source.tree.body):
        yield from spot.take(top_of_body(spot.scope, COST - 0.2, function, f"global {name}"))
    elif _bound_around(spot, name):
        yield from spot.take(top_of_body(spot.scope, COST - 0.2, function, f"nonlocal {name}"))
    for rank, text in enumerate(
        dict.fromkeys([*_assigned_values(function, name, spot), *BEGINNINGS])
    ):
        yield from spot.take(
            top_of_body(spot.scope, COST + 0.08 * rank, function, f"{name} = {text}")
        )
    others = [a.arg for a in ast.walk(function) if isinstance(a, ast.arg)] + spot.names
    for node in spot.find(ast.Name, lambda n: n.id == name and isinstance(n.ctx, ast.Load)):
        for rank, other in enumerate(close_names(name, others, 3)):
            yield spot.replace(COST + 0.2 + 0.1 * rank, node, other)


def _assigned_values(function: ast.AST, name: str, spot: Spot) -> List[str]:
    """Return simple values that the name is assigned elsewhere."""
    assigned = [n for n in ast.walk(function) if isinstance(n, ast.Assign)]
    values = [
        n.value
        for n in assigned
        if any(isinstance(t, ast.Name) and t.id == name for t in n.targets)
    ]
    return [
        spot.text(v)
        for v in values
        if isinstance(v, (ast.Constant, ast.List, ast.Dict)) and spot.text(v)
    ][:2]


def _bound_around(spot: Spot, name: str) -> bool:
    outer = spot.scope.root
    inside = [
        n
        for n in ast.walk(outer)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    return outer is not spot.function and any(not _is_in(n, spot) for n in inside)


def _is_in(node: ast.AST, spot: Spot) -> bool:
    return spot.function is not None and any(inner is node for inner in ast.walk(spot.function))
