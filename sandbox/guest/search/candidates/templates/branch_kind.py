"""Branches that are joined wrongly: `elif` for `if`, `if` for `elif`, a superfluous `else`."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.9
CHANGES = (
    (
        "def f(a):\n    if a:\n        g(a)\n    elif g(1):\n        g(2)\n",
        "def f(a):\n    if a:\n        g(a)\n    if g(1):\n        g(2)\n",
    ),
    (
        "def f(a):\n    if a:\n        g(a)\n    if g(1):\n        g(2)\n",
        "def f(a):\n    if a:\n        g(a)\n    elif g(1):\n        g(2)\n",
    ),
    (
        "def f(a):\n    if a:\n        g(a)\n    else:\n        g(2)\n    return a\n",
        "def f(a):\n    if a:\n        g(a)\n    g(2)\n    return a\n",
    ),
    (
        "def f(a):\n    for x in a:\n        g(x)\n    else:\n        g(2)\n",
        "def f(a):\n    for x in a:\n        g(x)\n    g(2)\n",
    ),
    (
        "def f(a):\n    if a:\n        g(a)\n    g(2)\n",
        "def f(a):\n    if a:\n        g(a)\n    else:\n        g(2)\n",
    ),
    (
        "def f(a, b):\n    if a:\n        g(a)\n    elif b:\n        g(2)\n",
        "def f(a, b):\n    if b:\n        g(2)\n    elif a:\n        g(a)\n",
    ),
    (
        "def f(a, b):\n    if a:\n        g(a)\n    elif b:\n        g(2)\n",
        "def f(a, b):\n    if b:\n        g(a)\n    elif a:\n        g(2)\n",
    ),
    (
        "def f(a, b):\n    if a:\n        return 1\n    if b:\n        return 2\n",
        "def f(a, b):\n    if b:\n        return 1\n    if a:\n        return 2\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Make branches exclusive or independent, or swap their conditions."""
    if not isinstance(node, (ast.If, ast.For, ast.While)) or not scope.is_inside(node):
        return
    if node.orelse:
        yield from _alternative(node, scope)
    elif isinstance(node, ast.If):
        block, index = scope.block(node)
        following = block[index + 1] if index + 1 < len(block) else None
        if isinstance(following, ast.If) and scope.source.whole_lines(following):
            start = scope.source.span(following)[0]
            # `if` becomes `elif`.
            yield ProposedEdits(COST, (TextEdit(start, start, "el"),))
            yield scope.swap(COST + 0.4, node.test, following.test)
        elif following is not None:
            yield _wrap_in_else(following, scope)


def _wrap_in_else(node: ast.stmt, scope: CodeScope) -> Optional[ProposedEdits]:
    code, lines, indent = (
        scope.dedented(node),
        scope.source.whole_lines(node),
        scope.source.indent(node),
    )
    if code is None or lines is None or indent is None:
        return None
    newline = scope.source.newline
    body = newline.join(f"{indent}    {line}" if line else "" for line in code.split("\n"))
    return ProposedEdits(
        COST + 0.3,
        (TextEdit(lines[0], scope.source.span(node)[1], f"{indent}else:{newline}{body}"),),
    )


def _alternative(
    node: ast.If | ast.For | ast.While, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    other = node.orelse[0]
    start = scope.source.span(other)[0]
    data = scope.source.data
    if (
        isinstance(node, ast.If)
        and isinstance(other, ast.If)
        and data[start : start + 4] == b"elif"
    ):
        # Without its first two letters, `elif` is an independent `if`.
        yield ProposedEdits(COST - 0.2, (TextEdit(start, start + 2, ""),))
        swapped = [(node.test, other.test)]
        edits = [
            scope.source.replacement(a, scope.text(b))
            for one, two in swapped
            for a, b in ((one, two), (two, one))
        ]
        yield ProposedEdits(COST, (*edits, *_exchange(node, other, scope)))
        yield ProposedEdits(COST + 0.2, tuple(edits))
        return
    line = scope.source.line_span(other.lineno, other.lineno)[0]
    above, text = scope.source.position(line)
    codes = [scope.dedented(statement) for statement in node.orelse]
    indent = scope.source.indent(node)
    if text.strip() != "else:" or None in codes or indent is None:
        return
    newline = scope.source.newline
    lines = [
        indent + part if part else ""
        for code in codes
        if code is not None
        for part in code.split("\n")
    ]
    first, last = scope.source.line_span(above, above)[0], scope.source.span(node.orelse[-1])[1]
    yield ProposedEdits(COST, (TextEdit(first, last, newline.join(lines)),))


def _exchange(node: ast.If, other: ast.If, scope: CodeScope) -> tuple[TextEdit, TextEdit]:
    one = (scope.source.span(node.body[0])[0], scope.source.span(node.body[-1])[1])
    two = (scope.source.span(other.body[0])[0], scope.source.span(other.body[-1])[1])
    data = scope.source.data
    return TextEdit(*one, data[slice(*two)].decode("utf-8")), TextEdit(
        *two, data[slice(*one)].decode("utf-8")
    )


CHEAPEST = COST - 0.2
