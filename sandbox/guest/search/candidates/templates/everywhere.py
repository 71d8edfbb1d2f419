"""The same mistake repeated: an operator, comparison, name or attribute wrong in all its places."""

from __future__ import annotations

import ast
from typing import Dict, Iterator, List, Optional, Tuple, Type

from sandbox.guest.search.candidates.templates.rename_attribute import family
from sandbox.guest.search.source.render import OPERATOR_TEXT, TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.2
CHANGES = (
    ("def f(a, b):\n    return a < b or b < 1\n", "def f(a, b):\n    return a <= b or b <= 1\n"),
    ("def f(a, b):\n    return a + b + 1\n", "def f(a, b):\n    return a - b - 1\n"),
    (
        "def f(a):\n    return a.lower() + a.lower()\n",
        "def f(a):\n    return a.upper() + a.upper()\n",
    ),
    ("def f(a, b):\n    return a[0] + a[1]\n", "def f(a, b):\n    return b[0] + b[1]\n"),
    (
        "def f(a, b):\n    return a < b\n    return a > b\n",
        "def f(a, b):\n    return a > b\n    return a < b\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)

TURNED: Dict[type, Tuple[Type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,), ast.Is: (ast.IsNot, ast.Eq), ast.IsNot: (ast.Is, ast.NotEq),
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add,), ast.Mult: (ast.Add, ast.FloorDiv),
    ast.Div: (ast.FloorDiv,), ast.FloorDiv: (ast.Div,), ast.Mod: (ast.FloorDiv,),
}  # fmt: skip


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change every equal operator, attribute or name of the function in one candidate."""
    if node is not scope.root or not scope.is_function:
        return
    places = _operators(scope)
    for kind, spots in places.items():
        for new in TURNED.get(kind, ()):
            edits = [
                scope.gap(left, right, OPERATOR_TEXT[kind], OPERATOR_TEXT[new])
                for left, right in spots
            ]
            # A single place belongs to the templates of single operators.
            if len(spots) > 1 and all(edits):
                yield ProposedEdits(COST, tuple(edit for edit in edits if edit))
    for one, other in (
        (ast.Lt, ast.Gt),
        (ast.LtE, ast.GtE),
        (ast.Add, ast.Sub),
        (ast.Eq, ast.NotEq),
    ):
        pairs = [(one, other, spot) for spot in places.get(one, ())] + [
            (other, one, s) for s in places.get(other, ())
        ]
        edits = [
            scope.gap(*spot, OPERATOR_TEXT[old], OPERATOR_TEXT[new]) for old, new, spot in pairs
        ]
        if one in places and other in places and all(edits):
            yield ProposedEdits(COST + 0.2, tuple(edit for edit in edits if edit))
    yield from _attributes(scope)
    yield from _names(scope)


Spots = Dict[type, List[Tuple[ast.expr, ast.expr]]]


def _operators(scope: CodeScope) -> Spots:
    found: Spots = {}
    for node in scope.nodes:
        if isinstance(node, ast.Compare):
            for op, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators):
                found.setdefault(type(op), []).append((left, right))
        elif isinstance(node, ast.BinOp):
            found.setdefault(type(node.op), []).append((node.left, node.right))
        elif isinstance(node, ast.AugAssign):
            found.setdefault(type(node.op), []).append((node.target, node.value))
    return {kind: spots for kind, spots in found.items() if len(spots) <= 12}


def _attributes(scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    found: Dict[str, List[ast.Attribute]] = {}
    for node in scope.nodes:
        if isinstance(node, ast.Attribute):
            found.setdefault(node.attr, []).append(node)
    for name, nodes in found.items():
        if 2 <= len(nodes) <= 12:
            ends = [scope.source.span(node)[1] for node in nodes]
            owner = getattr(nodes[0].value, "attr", getattr(nodes[0].value, "id", ""))
            siblings = [n for n in scope.surroundings.attributes_read(owner)[0] if n != name]
            for other in dict.fromkeys([*family(name), *siblings[:6]]):
                yield ProposedEdits(
                    COST + 0.2,
                    tuple(TextEdit(end - len(name.encode()), end, other) for end in ends),
                )


def _names(scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    found: Dict[str, List[ast.Name]] = {}
    for node in scope.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, []).append(node)
    for name, nodes in found.items():
        if 2 <= len(nodes) <= 8 and name in scope.names:
            for other in scope.names_at(nodes[0]):
                if other != name:
                    edits = tuple(TextEdit(*scope.source.span(node), other) for node in nodes)
                    yield ProposedEdits(COST + 0.4, edits)
