"""A group of values that is too small or too large: `x in (11, 12)` for `x in (11, 12, 13)`."""

from __future__ import annotations

import ast
from typing import Any, Iterator, List, Optional, Sequence

from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.6
CHANGES = (
    ("def f(x):\n    return x in (11, 12)\n", "def f(x):\n    return x in (11, 12, 13)\n"),
    ("def f(x):\n    return x in [3, 4]\n", "def f(x):\n    return x in [2, 3, 4]\n"),
    ("def f(x):\n    return x not in {'a', 'b'}\n", "def f(x):\n    return x not in {'b'}\n"),
    ("def f(x):\n    return x in ('a', 'b')\n", "def f(x):\n    return x in ('a',)\n"),
    (
        "def f():\n    return [n for n in (1, 2)]\n",
        "def f():\n    return [n for n in (1, 2, 3)]\n",
    ),
)
UNTOUCHED = (
    "T = (11, 12)\n",
    "def f(x):\n    return x, (11, x)\n",
    "def f(x):\n    return g(11, 12)\n",
)

MAX_GROUP = 12
"""Maximum size of a group to extend by its neighbours or to reduce; larger ones are tables."""
MAX_SEEN = 8
"""Maximum literals of the failing tests to add."""


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Add a value or remove one."""
    if (
        not isinstance(node, (ast.Tuple, ast.List, ast.Set))
        or not scope.is_function
        or not _is_asked(node, scope)
    ):
        return
    values: List[Any] = [e.value for e in node.elts if isinstance(e, ast.Constant)]
    if len(values) != len(node.elts) or not values:
        return
    span = scope.source.span
    if len(values) <= MAX_GROUP and all(type(v) is int for v in values):
        first, last = span(node.elts[0])[0], span(node.elts[-1])[1]
        yield ProposedEdits(COST, (TextEdit(last, last, f", {values[-1] + 1}"),))
        yield ProposedEdits(COST + 0.1, (TextEdit(first, first, f"{values[0] - 1}, "),))
    for rank, text in enumerate(_test_literals(values, scope)):
        last = span(node.elts[-1])[1]
        yield ProposedEdits(COST + 0.2 + 0.05 * rank, (TextEdit(last, last, f", {text}"),))
    if 1 < len(values) <= MAX_GROUP:
        yield from _without_one(node, scope)


def _is_asked(node: ast.AST, scope: CodeScope) -> bool:
    """Return True if the group is used for a membership test or as the iterable of a loop."""
    parent = scope.parent(node)
    if isinstance(parent, ast.Compare):
        return (
            len(parent.ops) == 1
            and isinstance(parent.ops[0], (ast.In, ast.NotIn))
            and node is parent.comparators[0]
        )
    return isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node


def _test_literals(values: Sequence[Any], scope: CodeScope) -> List[str]:
    kind = type(values[-1])
    seen: Sequence[object] = scope.literals.strings if kind is str else scope.literals.numbers
    fresh = [value for value in seen if type(value) is kind and value not in values]
    return [repr(value) for value in fresh[:MAX_SEEN]]


def _without_one(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    elements: List[ast.expr] = node.elts  # type: ignore[attr-defined]
    span = scope.source.span
    for index, element in enumerate(elements):
        start, end = span(element)
        # A tuple of one element needs its comma.
        lonely = "," if isinstance(node, ast.Tuple) and len(elements) == 2 else ""
        if index:
            yield ProposedEdits(COST + 0.3, (TextEdit(span(elements[index - 1])[1], end, lonely),))
            continue
        next_start, next_end = span(elements[1])
        more = (TextEdit(next_end, next_end, lonely),) if lonely else ()
        yield ProposedEdits(COST + 0.3, (TextEdit(start, next_start, ""), *more))
