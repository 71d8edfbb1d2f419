"""Another small expression of the same function in place of this one."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.donors import SMALL, size
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.6
CHANGES = (
    (
        "def f(a, b):\n    c = a[0]\n    return b + c\n",
        "def f(a, b):\n    c = a[0]\n    return a[0] + c\n",
    ),
    ("def f(a, b):\n    return g(a) + h(b)\n", "def f(a, b):\n    return h(b) + h(b)\n"),
)
UNTOUCHED = ("def f(a, b):\n    return a\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Borrow an expression of the function; names and constants have their own templates."""
    # A large expression is rarely wrong as a whole.
    if not scope.is_value(node) or size(node) > SMALL:
        return
    own = scope.text(node)
    for donor in scope.donors.expressions:
        if isinstance(donor, (ast.Constant, ast.Name)) or donor is node:
            continue
        if scope.text(donor) != own:
            yield scope.replace(COST, node, scope.text(donor))
