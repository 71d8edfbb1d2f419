"""Arithmetic on invalid numbers: division by zero, the maximum of nothing, a negative root."""

from __future__ import annotations

import ast
from typing import Iterator

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.render import OR, TextEdit, parenthesize

COST = 0.5
CHANGES = (
    (
        "ZeroDivisionError: division by zero",
        2,
        "def f(a, b):\n    return a / b\n",
        "def f(a, b):\n    return a / b if b else 0\n",
    ),
    (
        "ZeroDivisionError: division by zero",
        2,
        "def f(a, b):\n    return a / len(b)\n",
        "def f(a, b):\n    if not b:\n        return 0\n    return a / len(b)\n",
    ),
    (
        "ZeroDivisionError: division by zero",
        2,
        "def f(a, b):\n    return a / b\n",
        "def f(a, b):\n    return a / max(b, 1)\n",
    ),
    (
        "ValueError: max() arg is an empty sequence",
        2,
        "def f(a):\n    return max(a)\n",
        "def f(a):\n    return max(a, default=0)\n",
    ),
    (
        "ValueError: math domain error",
        2,
        "def f(a):\n    return math.sqrt(a)\n",
        "def f(a):\n    return math.sqrt(max(a, 0))\n",
    ),
    (
        "ValueError: math domain error",
        2,
        "def f(a):\n    return math.sqrt(a)\n",
        "def f(a):\n    return math.sqrt(abs(a))\n",
    ),
)
UNTOUCHED = (("ValueError: no", 2, "def f(a, b):\n    return a / b\n"),)

RESULTS = ("0", "None", "0.0", "1", "float('inf')", "float('nan')", "[]", "''")


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Guard or replace the failing operation."""
    message = view.failure.message
    for depth, spot in enumerate(view.spots[:2]):
        if view.failure.is_a("ZeroDivisionError"):
            changes = _divisions(spot)
        elif (
            "empty sequence" in message
            or "iterable argument is empty" in message
            or "at least one data point" in message
        ):
            changes = _of_nothing(spot)
        elif "math domain error" in message or "expected a nonnegative" in message:
            changes = _domain(spot)
        else:
            return
        for change in changes:
            yield change._replace(cost=change.cost + 0.4 * depth)


def _divisions(spot: Spot) -> Iterator[GuidedProposal]:
    kinds = (ast.Div, ast.FloorDiv, ast.Mod)
    for node in spot.find(ast.BinOp, lambda n: isinstance(n.op, kinds))[:3]:
        divisor, whole = spot.text(node.right), spot.text(node)
        if "\n" in whole:
            continue
        for rank, result in enumerate(RESULTS[:6]):
            yield spot.replace(COST + 0.06 * rank, node, f"{whole} if {divisor} else {result}")
        yield spot.replace(COST + 0.2, node.right, f"max({divisor}, 1)")
        yield spot.replace(COST + 0.25, node.right, f"{parenthesize(divisor, OR)} or 1")
        yield from _guards(spot, _empty(node.right, spot))
    for statement in spot.find(ast.AugAssign, lambda n: isinstance(n.op, kinds)):
        yield from _guards(spot, _empty(statement.value, spot))


def _empty(node: ast.expr, spot: Spot) -> str:
    """Return a condition for a zero divisor: `not items` for `len(items)`, else `x == 0`."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len" and node.args:
        return f"not {spot.text(node.args[0])}"
    return f"{spot.source.part(node, 7)} == 0"


def _guards(spot: Spot, condition: str) -> Iterator[GuidedProposal]:
    for rank, result in enumerate(RESULTS):
        yield from spot.before(COST + 0.05 + 0.06 * rank, f"if {condition}:\n    return {result}")
    yield from spot.before(COST + 0.3, f"if {condition}:\n    continue")


def _of_nothing(spot: Spot) -> Iterator[GuidedProposal]:
    for call in spot.find(ast.Call)[:3]:
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        if not call.args:
            continue
        text = spot.text(call.args[0])
        if name in ("max", "min"):
            ends = [spot.source.span(a)[1] for a in [*call.args, *(k.value for k in call.keywords)]]
            # A generator expression as the only argument has no parentheses of its own.
            bare = (
                isinstance(call.args[0], ast.GeneratorExp)
                and len(call.args) + len(call.keywords) == 1
            )
            for rank, result in enumerate(RESULTS):
                if bare and not text.startswith("("):
                    continue
                if bare:
                    yield spot.replace(
                        COST - 0.1 + 0.06 * rank, call, f"{name}({text}, default={result})"
                    )
                else:
                    yield spot.edit(
                        COST - 0.1 + 0.06 * rank,
                        TextEdit(max(ends), max(ends), f", default={result}"),
                    )
        if isinstance(call.args[0], (ast.Name, ast.Attribute)):
            yield from _guards(spot, f"not {text}")
            yield spot.replace(COST, call, f"{spot.text(call)} if {text} else 0")


def _domain(spot: Spot) -> Iterator[GuidedProposal]:
    for call in spot.find(ast.Call)[:2]:
        for argument in call.args[:1]:
            text = spot.text(argument)
            for form in (f"max({text}, 0)", f"max({text}, 0.0)", f"abs({text})", f"max({text}, 1)"):
                yield spot.replace(COST, argument, form)
            yield from _guards(spot, f"{spot.source.part(argument, 7)} < 0")
            yield from _guards(spot, f"{spot.source.part(argument, 7)} <= 0")
