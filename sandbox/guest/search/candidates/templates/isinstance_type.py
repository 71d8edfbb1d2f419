"""A type check that is too narrow, too wide, or for the wrong type."""

from __future__ import annotations

import ast
from typing import Dict, Iterator, Optional, Tuple

from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.7
CHANGES = (
    (
        "def f(a):\n    return isinstance(a, list)\n",
        "def f(a):\n    return isinstance(a, (list, tuple))\n",
    ),
    (
        "def f(a):\n    return isinstance(a, (int, str))\n",
        "def f(a):\n    return isinstance(a, int)\n",
    ),
    ("def f(a):\n    return isinstance(a, str)\n", "def f(a):\n    return isinstance(a, bytes)\n"),
    ("def f(a):\n    return type(a) == int\n", "def f(a):\n    return isinstance(a, int)\n"),
    ("def f(a):\n    return isinstance(a, int)\n", "def f(a):\n    return type(a) is int\n"),
    (
        "def f(a):\n    return isinstance(a, int)\n",
        "def f(a):\n    return isinstance(a, int) and not isinstance(a, bool)\n",
    ),
    (
        "def f(a, b):\n    return isinstance(a, int)\n",
        "def f(a, b):\n    return isinstance(b, int)\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)

KIN: Dict[str, Tuple[str, ...]] = {
    "list": ("tuple", "set"), "tuple": ("list",), "str": ("bytes",), "bytes": ("bytearray", "str"),
    "dict": ("list",), "int": ("float", "bool", "str"), "float": ("int", "complex"),
    "set": ("frozenset", "list"), "bool": ("int",), "frozenset": ("set",),
}  # fmt: skip


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change, add or remove types; exchange `isinstance` and exact type checks."""
    if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
        function = scope.text(node.func)
        if function in ("isinstance", "issubclass"):
            yield from _types(node, function, scope)
            yield from _values(node, scope)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.left, ast.Call):
        call, kind = node.left, node.comparators[0]
        if isinstance(call.func, ast.Name) and call.func.id == "type" and len(call.args) == 1:
            text = f"isinstance({scope.text(call.args[0])}, {scope.text(kind)})"
            negative = isinstance(node.ops[0], (ast.IsNot, ast.NotEq, ast.NotIn))
            yield scope.replace(COST, node, f"not {text}" if negative else text)


def _types(node: ast.Call, function: str, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    value, kind = node.args
    start, end = scope.source.span(kind)
    names = (
        [scope.text(e) for e in kind.elts] if isinstance(kind, ast.Tuple) else [scope.text(kind)]
    )
    for other in dict.fromkeys(other for name in names for other in KIN.get(name, ())):
        if other not in names:
            yield ProposedEdits(COST, (TextEdit(start, end, f"({', '.join([*names, other])})"),))
            if len(names) == 1:
                yield ProposedEdits(COST + 0.2, (TextEdit(start, end, other),))
    for index in range(len(names)):
        kept = names[:index] + names[index + 1 :]
        if kept:
            text = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
            yield ProposedEdits(COST + 0.2, (TextEdit(start, end, text),))
    if len(names) == 1 and function == "isinstance":
        yield scope.replace(COST + 0.4, node, f"type({scope.text(value)}) is {names[0]}")
    if "int" in names:
        text = f"{scope.text(node)} and not isinstance({scope.text(value)}, bool)"
        yield scope.replace(COST + 0.3, node, text)


def _values(node: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    value = node.args[0]
    text = scope.text(value)
    if scope.is_condition(node):
        yield scope.replace(COST + 0.5, node, f"callable({text})")
    for name in scope.names_at(node):
        if name != text:
            yield scope.replace(COST + 0.3, value, name)
    if isinstance(value, ast.Name):
        yield scope.replace(COST + 0.8, node, f"hasattr({text}, '__iter__')")
