"""Wrong logic: `and` for `or`, a condition too many."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import OPERATOR_TEXT, Edit
from sandbox.guest.search.source.scope import Proposal, Scope

COST = 1.0
CHANGES = (
    ("def f(a, b):\n    return a and b\n", "def f(a, b):\n    return a or b\n"),
    ("def f(a, b, c):\n    return a or b or c\n", "def f(a, b, c):\n    return a and b and c\n"),
    ("def f(a, b, c):\n    return a or b or c\n", "def f(a, b, c):\n    return a or c\n"),
    ("def f(a, b):\n    return a and not b\n", "def f(a, b):\n    return a\n"),
    ("def f(a):\n    return [x for x in a if x]\n", "def f(a):\n    return [x for x in a]\n"),
)
UNTOUCHED = ("def f(a, b):\n    return a & b\n",)


def propose(node: ast.AST, scope: Scope) -> Iterator[Optional[Proposal]]:
    """The other connective; one operand less; one filter less."""
    if isinstance(node, ast.BoolOp):
        yield _other_connective(node, scope)
        for index in range(len(node.values)):
            if index:
                span = scope.source.span(node.values[index - 1])[1], scope.source.span(node.values[index])[1]
            else:
                span = scope.source.span(node.values[0])[0], scope.source.span(node.values[1])[0]
            if len(node.values) == 2:
                yield scope.replace(COST + 0.5, node, scope.text(node.values[1 - index]))
            else:
                yield Proposal(COST + 0.5, (Edit(span[0], span[1], ""),))
    if isinstance(node, ast.comprehension):
        ends = [node.iter, *node.ifs]
        for before, condition in zip(ends, node.ifs):
            start, end = scope.source.span(before)[1], scope.source.span(condition)[1]
            yield Proposal(COST + 1.0, (Edit(start, end, ""),))


def _other_connective(node: ast.BoolOp, scope: Scope) -> Optional[Proposal]:
    old = type(node.op)
    new = ast.Or if old is ast.And else ast.And
    pairs = zip(node.values, node.values[1:])
    edits = [scope.gap(left, right, OPERATOR_TEXT[old], OPERATOR_TEXT[new]) for left, right in pairs]
    return Proposal(COST, tuple(edit for edit in edits if edit)) if all(edits) else None
