"""A lookup that should tolerate (or should not tolerate) a missing key: `d[k]` for `d.get(k)`."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import ATOM, AWAIT, OPERATOR_TEXT, TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.8
CHANGES = (
    ("def f(d, k):\n    return d[k]\n", "def f(d, k):\n    return d.get(k)\n"),
    ("def f(d, k):\n    return d[k]\n", "def f(d, k):\n    return d.get(k, 0)\n"),
    ("def f(d, k):\n    return d.get(k)\n", "def f(d, k):\n    return d[k]\n"),
    ("def f(d, k):\n    return d.get(k)\n", "def f(d, k):\n    return d.get(k, [])\n"),
    ("def f(d, k):\n    return d.pop(k)\n", "def f(d, k):\n    return d.pop(k, None)\n"),
    ("def f(d, k):\n    del d[k]\n", "def f(d, k):\n    d.pop(k, None)\n"),
    ("def f(d, k):\n    d[k] += 1\n", "def f(d, k):\n    d[k] = d.get(k, 0) + 1\n"),
    ("def f(d, k):\n    d[k] = 1\n", "def f(d, k):\n    d.setdefault(k, 1)\n"),
    ("def f(d, k):\n    d[k].append(1)\n", "def f(d, k):\n    d.setdefault(k, []).append(1)\n"),
    ("def f(o):\n    return o.name\n", "def f(o):\n    return getattr(o, 'name', None)\n"),
    ("def f(a):\n    return next(a)\n", "def f(a):\n    return next(a, None)\n"),
)
UNTOUCHED = ("def f(a):\n    return a[1:]\n", "def f(a, b):\n    return a + b\n")

DEFAULTS = ("None", "0", "[]", "{}", "''", "False")
NO_KEYS = frozenset(("list", "str", "tuple", "range", "bytes"))


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Exchange the ways to look up a key, and add defaults."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from _subscript(node, scope)
    elif isinstance(node, ast.Call):
        yield from _call(node, scope)
    elif (
        isinstance(node, ast.Attribute)
        and scope.is_value(node)
        and isinstance(node.value, (ast.Name, ast.Attribute))
    ):
        for default in ("None", "False", "''"):
            text = f"getattr({scope.text(node.value)}, {node.attr!r}, {default})"
            yield scope.replace(COST + 0.9, node, text)
    elif isinstance(node, ast.stmt):
        yield from _statement(node, scope)


def _subscript(node: ast.Subscript, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    if isinstance(node.slice, (ast.Slice, ast.Tuple)) or not _may_have_keys(node.value, scope):
        return
    base, key = scope.part(node.value, ATOM), scope.text(node.slice)
    # Integer indices suggest a sequence, which has no `get`.
    if isinstance(node.slice, ast.UnaryOp) or (
        isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int)
    ):
        return
    yield scope.replace(COST, node, f"{base}.get({key})")
    for default in DEFAULTS[1:]:
        yield scope.replace(COST + 0.2, node, f"{base}.get({key}, {default})")
    for name in scope.names_at(node)[:8]:
        yield scope.replace(COST + 0.8, node, f"{base}.get({key}, {name})")
    if isinstance(scope.parent(node), ast.Attribute):
        for empty in ("[]", "set()", "{}"):
            yield scope.replace(COST + 0.2, node, f"{base}.setdefault({key}, {empty})")


def _may_have_keys(node: ast.expr, scope: CodeScope) -> bool:
    kind = scope.infer_kind(node)
    return kind is None or not kind.names or not kind.names <= NO_KEYS


def _call(node: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    function = node.func
    if any(isinstance(a, ast.Starred) for a in node.args) or node.keywords:
        return
    if isinstance(function, ast.Name) and function.id in ("next", "getattr"):
        needed = 1 if function.id == "next" else 2
        if len(node.args) == needed:
            for default in DEFAULTS:
                yield _with(node, COST + 0.2, default, scope)
    if (
        isinstance(function, ast.Attribute)
        and function.attr in ("get", "setdefault", "pop")
        and node.args
    ):
        yield from _method(node, function, scope)


def _method(
    node: ast.Call, function: ast.Attribute, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    base, key = scope.part(function.value, ATOM), scope.text(node.args[0])
    yield scope.replace(COST, node, f"{base}[{key}]")
    if len(node.args) == 1:
        for default in [*DEFAULTS, *scope.names_at(node)[:8]]:
            yield _with(node, COST + 0.2, default, scope)
    if len(node.args) == 2:
        yield scope.replace(
            COST + 0.2, node, f"({base}.{function.attr}({key}) or {scope.text(node.args[1])})"
        )
        for default in DEFAULTS:
            yield scope.replace(COST + 0.3, node.args[1], default)


def _with(node: ast.Call, cost: float, argument: str, scope: CodeScope) -> Optional[ProposedEdits]:
    at = scope.source.span(node.args[-1])[1]
    return (
        None
        if isinstance(node.args[-1], ast.GeneratorExp)
        else ProposedEdits(cost, (TextEdit(at, at, f", {argument}"),))
    )


def _statement(node: ast.stmt, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    if (
        isinstance(node, ast.Delete)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Subscript)
    ):
        target = node.targets[0]
        if not isinstance(target.slice, ast.Slice):
            yield scope.restate(
                COST, node, f"{scope.text(target.value)}.pop({scope.text(target.slice)}, None)"
            )
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
        base, key = scope.text(node.target.value), scope.text(node.target.slice)
        sign, value = OPERATOR_TEXT[type(node.op)], scope.part(node.value, AWAIT)
        for default in ("0", "[]", "''", "1"):
            text = f"{base}[{key}] = {base}.get({key}, {default}) {sign} {value}"
            yield scope.restate(COST + 0.2, node, text)
    if (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Subscript)
    ):
        target = node.targets[0]
        if not isinstance(target.slice, ast.Slice):
            base, key = scope.text(target.value), scope.text(target.slice)
            yield scope.restate(
                COST + 0.5, node, f"{base}.setdefault({key}, {scope.text(node.value)})"
            )
