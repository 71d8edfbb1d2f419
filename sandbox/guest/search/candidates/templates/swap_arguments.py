"""Arguments or elements in the wrong order, superfluous or missing."""

from __future__ import annotations

import ast
import itertools
from typing import Iterator, List, Optional, Sequence

from sandbox.guest.search.source.render import SUM, TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.3
CHANGES = (
    ("def f(a, b):\n    return g(a, b)\n", "def f(a, b):\n    return g(b, a)\n"),
    ("def f(a, b):\n    return g(a, b)\n", "def f(a, b):\n    return g(a)\n"),
    ("def f(a, b):\n    return g(a)\n", "def f(a, b):\n    return g(a, b)\n"),
    ("def f(a, b):\n    return (a, b)\n", "def f(a, b):\n    return (b, a)\n"),
    (
        "def f(a, b):\n    a, b = b, a\n    return a\n",
        "def f(a, b):\n    b, a = b, a\n    return a\n",
    ),
    ("def f(a):\n    return [a, 1, 2]\n", "def f(a):\n    return [a, 1]\n"),
    ("def f(a):\n    return g(a, key=1)\n", "def f(a):\n    return g(a)\n"),
    ("def f(a, b):\n    return f(a, b)\n", "def f(a, b):\n    return f(a - b, b)\n"),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Swap, drop or add arguments; swap or drop elements."""
    if isinstance(node, ast.Call):
        yield from _arguments(node, scope)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)) and 1 <= len(node.elts) <= 16:
        for one, other in zip(node.elts, node.elts[1:]):
            yield scope.swap(COST + 0.3, one, other)
        if isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and len(node.elts) > 1:
            for index in range(len(node.elts)):
                yield ProposedEdits(COST + 0.5, (_without(node.elts, index, scope),))


def _arguments(node: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    given = sorted(
        [*node.args, *(k.value for k in node.keywords)], key=lambda n: (n.lineno, n.col_offset)
    )
    for one, other in itertools.combinations(node.args, 2):
        yield scope.swap(COST, one, other)
    pieces: List[ast.AST] = sorted([*node.args, *node.keywords], key=_position)
    # Before Python 3.9, keywords have no position.
    if all(hasattr(piece, "lineno") for piece in pieces):
        for index in range(len(pieces)):
            yield ProposedEdits(COST + 0.7, (_without(pieces, index, scope),))
    if len(node.args) <= 2 and not any(isinstance(a, ast.GeneratorExp) for a in node.args):
        for name in scope.names_at(node):
            yield _added(node, name, given, scope)
    for argument in node.args:
        if not isinstance(argument, (ast.Starred, ast.GeneratorExp)):
            for name in scope.names_with_type(node, "int", "float", "set"):
                yield scope.replace(COST + 1.5, argument, f"{scope.part(argument, SUM)} - {name}")


def _added(
    node: ast.Call, name: str, given: Sequence[ast.AST], scope: CodeScope
) -> Optional[ProposedEdits]:
    if node.args:
        at = scope.source.span(node.args[-1])[1]
        return ProposedEdits(COST + 1.3, (TextEdit(at, at, f", {name}"),))
    if given:
        return None
    at = scope.source.span(node)[1] - 1
    return ProposedEdits(COST + 1.3, (TextEdit(at, at, name),))


def _without(pieces: Sequence[ast.AST], index: int, scope: CodeScope) -> TextEdit:
    span = scope.source.span
    if index:
        return TextEdit(span(pieces[index - 1])[1], span(pieces[index])[1], "")
    start, end = span(pieces[0])
    if len(pieces) > 1:
        return TextEdit(start, span(pieces[1])[0], "")
    return TextEdit(start, end, "()" if isinstance(pieces[0], ast.GeneratorExp) else "")


def _position(node: ast.AST) -> tuple:  # type: ignore[type-arg]
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
