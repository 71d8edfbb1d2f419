"""A statement in the wrong place: superfluous, in the wrong order, inside or outside of a block."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional

from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.8
CHEAPEST = COST - 0.3
CHANGES = (
    ("def f(a):\n    a = 1\n    return a\n", "def f(a):\n    return a\n"),
    (
        "def f(a):\n    a = 1\n    b = a\n    return b\n",
        "def f(a):\n    b = a\n    a = 1\n    return b\n",
    ),
    (
        "def f(a):\n    for x in a:\n        g(x)\n        return x\n",
        "def f(a):\n    for x in a:\n        g(x)\n    return x\n",
    ),
    (
        "def f(a):\n    for x in a:\n        g(x)\n    return x\n",
        "def f(a):\n    for x in a:\n        g(x)\n        return x\n",
    ),
    (
        "def f(a):\n    g(1)\n    g(2)\n    g(3)\n    return a\n",
        "def f(a):\n    g(2)\n    g(3)\n    g(1)\n    return a\n",
    ),
    (
        "def f(a):\n    g(1)\n    g(2)\n    g(3)\n    return a\n",
        "def f(a):\n    g(3)\n    g(1)\n    g(2)\n    return a\n",
    ),
    ("def f(a):\n    if a:\n        g(a)\n    return a\n", "def f(a):\n    g(a)\n    return a\n"),
    (
        "def f(a):\n    if a:\n        b = 1\n    else:\n        b = 2\n    return b\n",
        "def f(a):\n    if a:\n        b = 2\n    else:\n        b = 1\n    return b\n",
    ),
)
UNTOUCHED = ("x = 1\n",)

BLOCKS = (ast.For, ast.While, ast.If, ast.With)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Delete a statement, move it, or remove the `if` around its block."""
    if not isinstance(node, ast.stmt) or not scope.is_inside(node) or isinstance(node, ast.Pass):
        return
    block, index = scope.block(node)
    following = block[index + 1] if index + 1 < len(block) else None
    yield scope.delete(COST, node)
    for distance, later in enumerate(block[index + 2 : index + 6]):
        yield _carry(node, block[index + 1], later, scope, cost=COST + 0.4 + 0.1 * distance)
        yield _brought(
            node, block[index + 1 + distance], later, scope, cost=COST + 0.4 + 0.1 * distance
        )
    if following is not None:
        yield _exchange(node, following, scope)
        if isinstance(node, BLOCKS):
            yield _move(following, node.body[-1], following, scope)
    elif index and isinstance(scope.parent(node), BLOCKS):
        outer = scope.parent(node)
        if isinstance(outer, BLOCKS) and block is outer.body and not getattr(outer, "orelse", None):
            yield _move(node, outer, node, scope)
    if isinstance(node, ast.If):
        yield from _without_if(node, scope)


def _move(
    node: ast.stmt, indent_like: ast.stmt, at: ast.stmt, scope: CodeScope
) -> Optional[ProposedEdits]:
    """Indent a statement like another one, between the same neighbours."""
    code, lines = scope.dedented(node), scope.source.whole_lines(at)
    indent = scope.source.indent(indent_like)
    if code is None or lines is None or indent is None or scope.source.indent(node) == indent:
        return None
    start, end = scope.source.span(node)
    text = scope.source.newline.join((indent + line if line else "") for line in code.split("\n"))
    return ProposedEdits(COST + 0.2, (TextEdit(lines[0], start, ""), TextEdit(start, end, text)))


def _carry(
    node: ast.stmt, nxt: ast.stmt, last: ast.stmt, scope: CodeScope, *, cost: float
) -> Optional[ProposedEdits]:
    """Move a statement down, behind the last of several."""
    one, two, end = (scope.source.whole_lines(s) for s in (node, nxt, last))
    if (
        one is None
        or two is None
        or end is None
        or not scope.source.data[one[0] : end[1]].endswith(b"\n")
    ):
        return None
    data = scope.source.data
    return ProposedEdits(
        cost,
        (TextEdit(one[0], two[0], ""), TextEdit(end[1], end[1], data[slice(*one)].decode("utf-8"))),
    )


def _brought(
    node: ast.stmt, before: ast.stmt, last: ast.stmt, scope: CodeScope, *, cost: float
) -> Optional[ProposedEdits]:
    """Move a later statement up, in front of this one."""
    one, end, above = (scope.source.whole_lines(s) for s in (node, last, before))
    if (
        one is None
        or end is None
        or above is None
        or not scope.source.data[one[0] : end[1]].endswith(b"\n")
    ):
        return None
    data = scope.source.data
    return ProposedEdits(
        cost, (TextEdit(one[0], one[0], data[slice(*end)].decode("utf-8")), TextEdit(*end, ""))
    )


def _exchange(node: ast.stmt, following: ast.stmt, scope: CodeScope) -> Optional[ProposedEdits]:
    one, two = scope.source.whole_lines(node), scope.source.whole_lines(following)
    if one is None or two is None or not scope.source.data[one[0] : two[1]].endswith(b"\n"):
        return None
    data = scope.source.data
    text = (data[two[0] : two[1]] + data[one[1] : two[0]] + data[one[0] : one[1]]).decode("utf-8")
    return ProposedEdits(COST + 0.2, (TextEdit(one[0], two[1], text),))


def _without_if(node: ast.If, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    codes: List[Optional[str]] = [scope.dedented(s) for s in node.body]
    if None not in codes:
        yield scope.restate(COST + 0.2, node, "\n".join(code for code in codes if code is not None))
    if node.orelse and not isinstance(node.orelse[0], ast.If):
        first = (scope.source.span(node.body[0])[0], scope.source.span(node.body[-1])[1])
        second = (scope.source.span(node.orelse[0])[0], scope.source.span(node.orelse[-1])[1])
        data = scope.source.data
        edits = (
            TextEdit(*first, data[slice(*second)].decode()),
            TextEdit(*second, data[slice(*first)].decode()),
        )
        yield ProposedEdits(COST - 0.3, edits)
