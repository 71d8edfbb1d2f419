"""A short method that wrongly overrides an inherited one."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.outer_scope import OuterScope
from sandbox.guest.search.source.render import TextEdit, first_line
from sandbox.guest.search.source.scope import CodeScope, FunctionNode, ProposedEdits

COST = 2.6
CHANGES = (
    (
        "class A(B):\n    x = 1\n\n    def copy(self):\n        return self\n",
        "class A(B):\n    x = 1\n",
    ),
    (
        (
            "class A:\n    def __eq__(self, other):\n        return True\n\n    def f(self):\n"
            "        return 1\n"
        ),
        "class A:\n    def f(self):\n        return 1\n",
    ),
)
UNTOUCHED = (
    "class A:\n    x = 1\n\n    def copy(self):\n        return self\n",
    "class A(B):\n    def copy(self):\n        return self\n",
    "def __getattr__(name):\n    return name\n",
)
MAX_LINES = 14
"""Maximum length of a method to remove, in lines."""


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Remove a method of a derived class, or one that `object` provides too."""
    if not isinstance(scope, OuterScope) or not isinstance(node, FunctionNode):
        return
    owner = scope.parent(node)
    if (
        not isinstance(owner, ast.ClassDef)
        or len(owner.body) < 2
        or node in scope.dangers.around(scope.source.places)
    ):
        return
    first, last = first_line(node), node.end_lineno or node.lineno
    if last - first >= MAX_LINES or not (owner.bases or hasattr(object, node.name)):
        return
    data, start, end = (
        scope.source.data,
        scope.source.line_span(first, first)[0],
        scope.source.line_span(last, last)[1],
    )
    # The blank lines between methods go with the removed method.
    if node is owner.body[-1]:
        start = len(data[:start].rstrip()) + len(scope.source.newline)
    else:
        end += len(data[end:]) - len(data[end:].lstrip(b"\r\n"))
    yield ProposedEdits(COST + 0.4 * (node.name == "__init__"), (TextEdit(start, end, ""),))
