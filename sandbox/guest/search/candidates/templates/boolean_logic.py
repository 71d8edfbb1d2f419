"""Wrong boolean logic: `and` for `or`, or a superfluous condition."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import OPERATOR_TEXT, TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.0
CHANGES = (
    ("def f(a, b):\n    return a and b\n", "def f(a, b):\n    return a or b\n"),
    ("def f(a, b, c):\n    return a or b or c\n", "def f(a, b, c):\n    return a and b and c\n"),
    ("def f(a, b, c):\n    return a or b or c\n", "def f(a, b, c):\n    return a or c\n"),
    ("def f(a, b):\n    return a and not b\n", "def f(a, b):\n    return a\n"),
    ("def f(a):\n    return [x for x in a if x]\n", "def f(a):\n    return [x for x in a]\n"),
)
UNTOUCHED = ("def f(a, b):\n    return a & b\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Exchange the operator, drop one operand, or drop one filter of a comprehension."""
    if isinstance(node, ast.BoolOp):
        yield _other_connective(node, scope)
        for index in range(len(node.values)):
            if index:
                span = (
                    scope.source.span(node.values[index - 1])[1],
                    scope.source.span(node.values[index])[1],
                )
            else:
                span = scope.source.span(node.values[0])[0], scope.source.span(node.values[1])[0]
            if len(node.values) == 2:
                yield scope.replace(COST + 0.5, node, scope.text(node.values[1 - index]))
            else:
                yield ProposedEdits(COST + 0.5, (TextEdit(span[0], span[1], ""),))
    if isinstance(node, ast.comprehension):
        ends = [node.iter, *node.ifs]
        for before, condition in zip(ends, node.ifs):
            start, end = scope.source.span(before)[1], scope.source.span(condition)[1]
            yield ProposedEdits(COST + 1.0, (TextEdit(start, end, ""),))


def _other_connective(node: ast.BoolOp, scope: CodeScope) -> Optional[ProposedEdits]:
    old = type(node.op)
    new = ast.Or if old is ast.And else ast.And
    pairs = zip(node.values, node.values[1:])
    edits = [
        scope.gap(left, right, OPERATOR_TEXT[old], OPERATOR_TEXT[new]) for left, right in pairs
    ]
    return ProposedEdits(COST, tuple(edit for edit in edits if edit)) if all(edits) else None
