"""An exhausted iterator, a collection changed during iteration, or a view used as a sequence."""

from __future__ import annotations

import ast
from typing import Iterator

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.render import TextEdit

COST = 0.4
CHANGES = (
    (
        "StopIteration: ",
        2,
        "def f(a):\n    return next(a)\n",
        "def f(a):\n    return next(a, None)\n",
    ),
    (
        "StopIteration: ",
        2,
        "def f(a):\n    return next(x for x in a)\n",
        "def f(a):\n    return next((x for x in a), None)\n",
    ),
    (
        "RuntimeError: dictionary changed size during iteration",
        2,
        "def f(d):\n    for k in d:\n        del d[k]\n",
        "def f(d):\n    for k in list(d):\n        del d[k]\n",
    ),
    (
        "RuntimeError: generator raised StopIteration",
        3,
        "def f(a):\n    while True:\n        raise StopIteration\n        yield 1\n",
        "def f(a):\n    while True:\n        return\n        yield 1\n",
    ),
    (
        "TypeError: Population must be a sequence. For dicts or sets, use sorted(d).",
        2,
        "def f(d):\n    return sample(d.keys(), 2)\n",
        "def f(d):\n    return sample(list(d.keys()), 2)\n",
    ),
    (
        "TypeError: object of type 'filter' has no len()",
        2,
        "def f(a):\n    return g(filter(None, a))\n",
        "def f(a):\n    return g(list(filter(None, a)))\n",
    ),
)
UNTOUCHED = (
    ("RuntimeError: no", 2, "def f(d):\n    for k in d:\n        del d[k]\n"),
    ("TypeError: object of type 'int' has no len()", 2, "def f(n):\n    return g(n, [n])\n"),
)
NO_SEQUENCES = (
    "keys",
    "values",
    "items",
    "set",
    "frozenset",
    "map",
    "filter",
    "zip",
    "reversed",
    "iter",
    "enumerate",
)
"""Calls whose results are iterable but have no length or index."""


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair exhausted iterators, changes during iteration, or views, by type and message."""
    failure = view.failure
    ended = (
        failure.is_a("StopIteration", "StopAsyncIteration") or "StopIteration" in failure.message
    )
    changed = (
        "changed size during iteration" in failure.message
        or "mutated during iteration" in failure.message
    )
    wanted = failure.is_a("TypeError") and any(
        words in failure.message
        for words in ("sequence", "subscriptable", "has no len", "not reversible")
    )
    for depth, spot in enumerate(view.spots[:2]):
        changes: Iterator[GuidedProposal] = (
            _ended(spot) if ended else _changed(spot) if changed else iter(())
        )
        changes = _convert_to_sequence(spot) if wanted else changes
        for change in changes:
            yield change._replace(cost=change.cost + 0.4 * depth)


def _ended(spot: Spot) -> Iterator[GuidedProposal]:
    for call in spot.find(
        ast.Call, lambda c: getattr(c.func, "id", "") == "next" and len(c.args) == 1
    )[:2]:
        text = spot.text(call.args[0])
        if isinstance(call.args[0], ast.GeneratorExp) and not text.startswith("("):
            text = f"({text})"
        for rank, value in enumerate(("None", "''", "0", "[]", "False", "{}")):
            yield spot.replace(COST + 0.07 * rank, call, f"next({text}, {value})")
    # Since PEP 479, raising StopIteration in a generator is an error.
    if isinstance(spot.statement, ast.Raise) and spot.function is not None:
        yield from spot.take(spot.scope.restate(COST - 0.1, spot.statement, "return"))
    statement = spot.statement
    code = (
        spot.scope.dedented(statement)
        if statement is not None and spot.function is not None
        else None
    )
    if statement is not None and code and isinstance(statement, (ast.Assign, ast.Expr)):
        body = "\n".join("    " + line if line else "" for line in code.split("\n"))
        for rank, leave in enumerate(("return", "break", "return None")):
            text = f"try:\n{body}\nexcept StopIteration:\n    {leave}"
            yield from spot.take(spot.scope.restate(COST + 0.1 + 0.06 * rank, statement, text))


def _changed(spot: Spot) -> Iterator[GuidedProposal]:
    """Iterate over a copy."""
    for loop in spot.find(ast.For):
        text = spot.text(loop.iter)
        yield spot.replace(COST - 0.2, loop.iter, f"list({text})")
        yield spot.edit(
            COST,
            TextEdit(*spot.source.span(loop.iter), f"{spot.source.part(loop.iter, 16)}.copy()"),
        )
    for comprehension in spot.find(ast.comprehension):
        yield spot.replace(COST - 0.1, comprehension.iter, f"list({spot.text(comprehension.iter)})")


def _convert_to_sequence(spot: Spot) -> Iterator[GuidedProposal]:
    """Convert a view, set or iterator to a list."""
    for node in spot.find(ast.expr):
        name = (
            getattr(node.func, "attr", getattr(node.func, "id", ""))
            if isinstance(node, ast.Call)
            else ""
        )
        if isinstance(node, (ast.Set, ast.SetComp)) or (
            name in NO_SEQUENCES and not spot.in_annotation(node)
        ):
            for rank, maker in enumerate(("list", "sorted", "tuple")):
                yield spot.replace(COST - 0.2 + 0.1 * rank, node, f"{maker}({spot.text(node)})")
