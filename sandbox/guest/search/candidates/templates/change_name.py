"""The wrong name: another variable in scope, another target, a whole expression for a name."""

from __future__ import annotations

import ast
import itertools
from typing import Iterator, Optional

from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.3
CHANGES = (
    ("def f(a, b):\n    return a\n", "def f(a, b):\n    return b\n"),
    ("def f(a, b):\n    c = b\n    return c\n", "def f(a, b):\n    a = b\n    return c\n"),
    ("def f(a, b):\n    a += 1\n    return a\n", "def f(a, b):\n    a += b\n    return a\n"),
    ("def f(a):\n    for x in []:\n        g(x)\n", "def f(a):\n    for x in a:\n        g(x)\n"),
    ("def f(a):\n    g(None)\n", "def f(a):\n    g(a)\n"),
    ("def f(a, b):\n    return g(a[0])\n", "def f(a, b):\n    return g(b)\n"),
    (
        "def f(a):\n    x = a\n    y = a\n    x.p = 1\n    y.q = 2\n",
        "def f(a):\n    y = a\n    x = a\n    x.p = 1\n    y.q = 2\n",
    ),
    (
        "def f(a, b):\n    a.x = 1\n    b[0] = 2\n    return b[0]\n",
        "def f(a, b):\n    b[0] = 1\n    b[0] = 2\n    return b[0]\n",
    ),
)
UNTOUCHED = ("def f():\n    return 1\n", "def f(a):\n    return None\n")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Read or assign another name in scope."""
    if node is scope.root:
        yield from _exchanged_targets(scope)
    elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        yield from _other_targets(node, scope)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        if isinstance(scope.parent(node), (ast.Assign, ast.AugAssign)):
            start, end = scope.source.span(node)
            others = [name for name in scope.names if name != node.id]
            yield from (ProposedEdits(COST + 0.3, (TextEdit(start, end, name),)) for name in others)
    elif isinstance(
        node, (ast.Name, ast.Call, ast.Subscript, ast.BinOp, ast.Attribute)
    ) and scope.is_value(node):
        cost = COST if isinstance(node, ast.Name) else COST + 0.9
        own = scope.text(node)
        # Replacing an expression by one of its own names is left to the templates that unwrap.
        inside = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for extra, name in scope.names_for(node):
            if name != own:
                yield scope.replace(cost + extra + 0.2 * (name in inside), node, name)
    elif (
        isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.Dict))
        and scope.is_function
        and scope.is_value(node)
    ):
        yield from _for_literal(node, scope)


def _for_literal(
    node: ast.Constant | ast.List | ast.Tuple | ast.Dict, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    """Replace a constant or an empty container by a name."""
    place = scope.place(node)
    value = node.value if isinstance(node, ast.Constant) else None
    if getattr(node, "elts", None) or getattr(node, "keys", None) or value is ...:
        return
    if value is None and isinstance(place.parent, (ast.Compare, ast.Return)):
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    likely = (
        place.field == "iter"
        if value is None
        else number and isinstance(place.parent, ast.AugAssign)
    )
    cost = COST + 0.3 if likely else COST + 1.0 + 0.3 * (not number)
    for extra, name in scope.names_for(node):
        if name not in ("self", "cls"):
            yield scope.replace(cost + (0.1 if value is None else extra), node, name)


def _other_targets(node: ast.expr, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    if not isinstance(scope.parent(node), (ast.Assign, ast.AugAssign)):
        return
    start, end = scope.source.span(node)
    for donor in scope.donors.expressions:
        if isinstance(donor, (ast.Subscript, ast.Attribute)) and scope.text(donor) != scope.text(
            node
        ):
            yield ProposedEdits(COST + 1.1, (TextEdit(start, end, scope.text(donor)),))


def _exchanged_targets(scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    stored = [n for n in scope.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    # The number of pairs grows with the square of the names.
    names = list(dict.fromkeys(n.id for n in stored))[:12]
    for one, other in itertools.combinations(names, 2):
        edits = [
            TextEdit(*scope.source.span(n), other if n.id == one else one)
            for n in stored
            if n.id in (one, other)
        ]
        yield ProposedEdits(COST + 1.7, tuple(edits))
