"""The wrong way to create a collection: `[x]` for `list(x)`, `(x)` for `(x,)`, a list for a set."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.9
CHANGES = (
    ("def f(a):\n    return [a]\n", "def f(a):\n    return list(a)\n"),
    ("def f(a):\n    return list(a)\n", "def f(a):\n    return [a]\n"),
    ("def f(a):\n    return tuple(a)\n", "def f(a):\n    return (a,)\n"),
    ("def f(a):\n    return (a,)\n", "def f(a):\n    return tuple(a)\n"),
    ("def f(a):\n    return {a}\n", "def f(a):\n    return set(a)\n"),
    ("def f(a):\n    return []\n", "def f(a):\n    return set()\n"),
    ("def f(a):\n    return {}\n", "def f(a):\n    return set()\n"),
    ("def f(a):\n    return [a, 1]\n", "def f(a):\n    return (a, 1)\n"),
    ("def f(a, b):\n    return a + b\n", "def f(a, b):\n    return a + [b]\n"),
    ("def f(a, b):\n    a.extend(b)\n", "def f(a, b):\n    a.extend([b])\n"),
    ("def f(a, b):\n    a.append([b])\n", "def f(a, b):\n    a.append(b)\n"),
)
UNTOUCHED = ("def f(a):\n    return a\n",)

EMPTY = {"list": "[]", "dict": "{}", "set": "set()", "tuple": "()", "str": "''"}


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Exchange literals, conversions and kinds of collections."""
    if not scope.is_value(node):
        return
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        yield from _display(node, scope)
    elif isinstance(node, ast.Dict) and not node.keys:
        yield from _empty(node, "dict", scope)
    elif isinstance(node, ast.Constant) and node.value == "":
        yield from _empty(node, "str", scope)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        yield from _call(node, node.func.id, scope)
    if isinstance(node, ast.expr):
        yield from _element(node, scope)


def _element(node: ast.expr, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Wrap an element in a collection where a collection is added."""
    parent = scope.parent(node)
    added = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add)
    if added and not isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.BinOp)):
        for form in ("[{}]", "({},)", "list({})"):
            yield scope.replace(COST + 0.4, node, form.format(scope.text(node)))
    called = (
        getattr(parent.func, "attr", "")
        if isinstance(parent, ast.Call) and node in parent.args
        else ""
    )
    if called in ("extend", "update", "union"):
        yield scope.replace(COST, node, f"[{scope.text(node)}]")
        yield scope.replace(COST + 0.3, node, f"({scope.text(node)},)")


def _display(
    node: ast.List | ast.Tuple | ast.Set, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    name = type(node).__name__.lower()
    if not node.elts:
        yield from _empty(node, name, scope)
        return
    texts = [scope.text(e) for e in node.elts]
    if len(texts) == 1 and not isinstance(node.elts[0], ast.Starred):
        yield scope.replace(COST, node, f"{name}({texts[0]})")
        yield scope.replace(COST + 0.1, node, texts[0])
    inside = ", ".join(texts)
    forms = {
        "list": f"[{inside}]",
        "set": f"{{{inside}}}",
        "tuple": f"({inside},)" if len(texts) == 1 else f"({inside})",
    }
    # A long literal is data, whose kind is rarely wrong.
    if len(inside) <= 200:
        for other, text in forms.items():
            if other != name:
                yield scope.replace(COST + 0.2, node, text)


def _empty(node: ast.expr, name: str, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    for other, text in EMPTY.items():
        if other != name:
            yield scope.replace(COST + 0.2, node, text)


def _call(node: ast.Call, name: str, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    if name not in EMPTY or name == "str":
        return
    if not node.args:
        yield from _empty(node, name, scope)
    elif len(node.args) == 1 and not isinstance(node.args[0], (ast.Starred, ast.GeneratorExp)):
        text = scope.text(node.args[0])
        form = {"list": f"[{text}]", "tuple": f"({text},)", "set": f"{{{text}}}"}.get(name)
        if form:
            yield scope.replace(COST, node, form)
