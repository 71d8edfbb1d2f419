"""A missing or superfluous `await` or `async`."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.5
CHANGES = (
    ("async def f(a):\n    return a.get(1)\n", "async def f(a):\n    return await a.get(1)\n"),
    ("async def f(a):\n    return await a.get(1)\n", "async def f(a):\n    return a.get(1)\n"),
    (
        "async def f(a):\n    for x in a:\n        g(x)\n",
        "async def f(a):\n    async for x in a:\n        g(x)\n",
    ),
    (
        "async def f(a):\n    with a:\n        pass\n",
        "async def f(a):\n    async with a:\n        pass\n",
    ),
    (
        "async def f(a):\n    async for x in a:\n        g(x)\n",
        "async def f(a):\n    for x in a:\n        g(x)\n",
    ),
)
UNTOUCHED = ("def f(a):\n    return a.get(1)\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Add or remove `await` before a call, or `async` before a loop or context manager."""
    if not scope.is_function or not isinstance(
        scope.surroundings.function_around(node), ast.AsyncFunctionDef
    ):
        return
    if isinstance(node, ast.Await):
        yield scope.replace(COST, node, scope.text(node.value))
    elif isinstance(node, ast.Call) and not isinstance(scope.parent(node), ast.Await):
        own = isinstance(scope.parent(node), (ast.Expr, ast.Assign, ast.Return))
        place = scope.place(node)
        if place.field != "func":
            text = f"await {scope.text(node)}"
            attribute = isinstance(place.parent, (ast.Attribute, ast.Subscript))
            yield scope.replace(COST + 0.4 * (not own), node, f"({text})" if attribute else text)
    elif isinstance(node, (ast.For, ast.With)):
        start = scope.source.span(node)[0]
        yield ProposedEdits(COST, (TextEdit(start, start, "async "),))
    elif isinstance(node, (ast.AsyncFor, ast.AsyncWith)):
        start = scope.source.span(node)[0]
        rest = scope.source.data[start + len("async") :]
        yield ProposedEdits(
            COST, (TextEdit(start, start + len("async") + len(rest) - len(rest.lstrip()), ""),)
        )
