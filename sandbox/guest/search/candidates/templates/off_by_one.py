"""An index, bound or length that is off by one."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import SUM
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.4
CHANGES = (
    ("def f(a):\n    return a[len(a)]\n", "def f(a):\n    return a[len(a) - 1]\n"),
    ("def f(n):\n    return list(range(n))\n", "def f(n):\n    return list(range(n + 1))\n"),
    ("def f(n):\n    return list(range(n))\n", "def f(n):\n    return list(range(1, n))\n"),
    ("def f(n):\n    return list(range(1, n))\n", "def f(n):\n    return list(range(n))\n"),
    (
        "def f(a, b):\n    return g(a if b else 0)\n",
        "def f(a, b):\n    return g((a if b else 0) + 1)\n",
    ),
)
UNTOUCHED = (
    "def f():\n    return [1, 2]\n",
    "def f():\n    return 'a'\n",
    "import os\n\n\ndef f():\n    os.x()\n",
)

NO_NUMBER = (
    ast.Compare, ast.BoolOp, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.GeneratorExp,
    ast.SetComp, ast.DictComp, ast.Constant, ast.Lambda,
)  # fmt: skip


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Add or subtract 1; start a range at 1 or at 0."""
    if scope.is_operand(node) and not isinstance(node, NO_NUMBER):
        place = scope.place(node)
        # Bounds, indices, lengths and comparisons are off by one more often than other numbers.
        likely = (
            isinstance(place.parent, (ast.Subscript, ast.Slice, ast.Compare))
            or scope.text(node)[:4] == "len("
        )
        likely = likely or (isinstance(place.parent, ast.Call) and place.field == "args")
        for sign in "+-":
            yield scope.replace(
                COST if likely else COST + 0.3, node, f"{scope.part(node, SUM)} {sign} 1"
            )
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "range"
        and not node.keywords
    ):
        if len(node.args) == 1:
            yield scope.replace(COST + 0.1, node, f"range(1, {scope.text(node.args[0])})")
        if len(node.args) == 2:
            yield scope.replace(COST + 0.1, node, f"range({scope.text(node.args[1])})")
