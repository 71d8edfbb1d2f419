"""IndexError: an index off by one, an empty list, a loop that runs too long."""

from __future__ import annotations

import ast
from typing import Iterator

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.render import TextEdit

COST = 0.5
CHANGES = (
    (
        "IndexError: list index out of range",
        2,
        "def f(a):\n    return a[0]\n",
        "def f(a):\n    if not a:\n        return None\n    return a[0]\n",
    ),
    (
        "IndexError: list index out of range",
        2,
        "def f(a, i):\n    return a[i]\n",
        "def f(a, i):\n    return a[i - 1]\n",
    ),
    (
        "IndexError: list index out of range",
        2,
        "def f(a, i):\n    return a[i]\n",
        "def f(a, i):\n    return a[i] if i < len(a) else None\n",
    ),
    (
        "IndexError: list index out of range",
        3,
        "def f(a):\n    for i in range(len(a)):\n        g(a[i + 1])\n",
        "def f(a):\n    for i in range(len(a) - 1):\n        g(a[i + 1])\n",
    ),
    (
        "IndexError: list index out of range",
        2,
        "def f(a, i):\n    while a[i] > 0:\n        i += 1\n",
        "def f(a, i):\n    while i < len(a) and a[i] > 0:\n        i += 1\n",
    ),
    (
        "IndexError: string index out of range",
        2,
        "def f(a):\n    return a[0] == 'x'\n",
        "def f(a):\n    return a[:1] == 'x'\n",
    ),
    (
        "IndexError: pop from empty list",
        2,
        "def f(a):\n    return a.pop()\n",
        "def f(a):\n    return a.pop() if a else None\n",
    ),
)
UNTOUCHED = (("KeyError: 1", 2, "def f(a):\n    return a[0]\n"),)

EXITS = (
    "return None",
    "return []",
    "return ''",
    "return 0",
    "return False",
    "return True",
    "continue",
    "break",
    "return",
)


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair each subscript and `pop`, and the enclosing loop."""
    if not view.failure.is_a("IndexError"):
        return
    for depth, spot in enumerate(view.spots[:2]):
        for change in _at(spot):
            yield change._replace(cost=change.cost + 0.4 * depth)


def _at(spot: Spot) -> Iterator[GuidedProposal]:
    for rank, node in enumerate(spot.find(ast.Subscript)[:3]):
        inner = getattr(node.slice, "value", None)
        key = (
            inner
            if type(node.slice).__name__ == "Index" and isinstance(inner, ast.expr)
            else node.slice
        )
        if not isinstance(key, ast.Slice):
            for change in _subscript(spot, node, key):
                yield change._replace(cost=change.cost + 0.1 * rank)
    for call in spot.find(ast.Call, lambda c: getattr(c.func, "attr", "") in ("pop", "popleft"))[
        :2
    ]:
        if isinstance(call.func, ast.Attribute):
            value = spot.text(call.func.value)
            yield spot.replace(COST, call, f"{spot.text(call)} if {value} else None")
            yield from _left(spot, f"not {value}")
    yield from _shorter_loop(spot)


def _subscript(spot: Spot, node: ast.Subscript, key: ast.expr) -> Iterator[GuidedProposal]:
    value, text = spot.text(node.value), spot.text(key)
    if "\n" in value + text:
        return
    constant = key.value if isinstance(key, ast.Constant) else None
    # Every non-empty sequence has a first and a last item.
    fits = value if constant in (0, -1) or text == "-1" else f"{text} < len({value})"
    if isinstance(constant, int):
        yield spot.replace(COST - 0.1, key, str(constant - 1))
        fits = fits if constant == 0 else f"len({value}) > {constant}"
    else:
        yield spot.replace(COST - 0.1, key, f"{text} - 1")
        yield spot.replace(COST + 0.2, key, f"{text} % len({value})")
    if isinstance(node.ctx, ast.Load):
        part = spot.text(node)
        for rank, other in enumerate(("None", "0", "''", "[]", "False")):
            yield spot.replace(COST + 0.1 + 0.06 * rank, node, f"{part} if {fits} else {other}")
        if constant == 0:
            yield spot.replace(COST + 0.1, node, f"{spot.source.part(node.value, 16)}[:1]")
    missing = f"not {value}" if fits == value else f"len({value}) <= {text}"
    yield from _left(spot, missing)
    if isinstance(spot.statement, (ast.While, ast.If)):
        test = spot.statement.test
        yield spot.replace(COST - 0.1, test, f"{fits} and {spot.source.part(test, 5)}")
    code = (
        spot.scope.dedented(spot.statement)
        if spot.statement and spot.function is not None
        else None
    )
    if code and isinstance(spot.statement, (ast.Expr, ast.Assign, ast.AugAssign)):
        body = "\n".join("    " + line if line else "" for line in code.split("\n"))
        yield from spot.take(spot.scope.restate(COST + 0.2, spot.statement, f"if {fits}:\n{body}"))


def _left(spot: Spot, condition: str) -> Iterator[GuidedProposal]:
    for rank, leave in enumerate(EXITS):
        yield from spot.before(COST + 0.05 * rank, f"if {condition}:\n    {leave}")


def _shorter_loop(spot: Spot) -> Iterator[GuidedProposal]:
    """Shorten the enclosing loop by one iteration."""
    node: ast.AST = spot.statement or spot.source.tree
    while node in spot.source.places and node is not spot.function:
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and node.iter.args:
            bound = node.iter.args[0] if len(node.iter.args) == 1 else node.iter.args[1]
            if getattr(node.iter.func, "id", "") == "range":
                yield spot.replace(COST - 0.1, bound, f"{spot.text(bound)} - 1")
                if len(node.iter.args) == 1:
                    at = spot.source.span(bound)[0]
                    yield spot.edit(COST + 0.1, TextEdit(at, at, "1, "))
        if isinstance(node, ast.While):
            for compare in [n for n in ast.walk(node.test) if isinstance(n, ast.Compare)][:2]:
                for old, new in ((ast.LtE, "<"), (ast.GtE, ">")):
                    if isinstance(compare.ops[0], old):
                        edit = spot.scope.gap(compare.left, compare.comparators[0], new + "=", new)
                        if edit:
                            yield spot.edit(COST - 0.1, edit)
        node = spot.source.places[node].parent
