"""A missing statement, borrowed from the same function with at most one argument changed."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.source.donors import size
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.2
CHANGES = (
    (
        "def f(a, b):\n    if a:\n        b.append(a)\n    return b\n",
        "def f(a, b):\n    if a:\n        b.append(a)\n    b.append(a)\n    return b\n",
    ),
    (
        "def f(a, b):\n    for x in a:\n        g(x)\n",
        "def f(a, b):\n    for x in a:\n        b.add(x)\n        g(x)\n",
    ),
    ("def f(a):\n    return a\n", "def f(a):\n    a += 1\n    return a\n"),
    (
        "def f(a):\n    if a:\n        return 1\n    a = 2\n",
        "def f(a):\n    if a:\n        return 1\n    else:\n        a = 2\n    a = 2\n",
    ),
)
UNTOUCHED = ("class A:\n    x = 1\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Insert a borrowed or small new statement before this one, after it, or in a new `else`."""
    if not isinstance(node, ast.stmt) or not scope.is_inside(node):
        return
    block, index = scope.block(node)
    doc = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    last = index == len(block) - 1 and not isinstance(
        node, (ast.Return, ast.Continue, ast.Break, ast.Raise)
    )
    for extra, code in _statements(node, scope):
        if not doc:
            yield scope.before(COST + extra, node, code)
        if last:
            yield scope.after(COST + extra, node, code)
    if isinstance(node, ast.If) and not node.orelse:
        yield from _new_else(node, scope)


def _new_else(node: ast.If, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    codes = [scope.dedented(s) for s in scope.donors.statements if size(s) <= 14]
    for code in [*codes, *(f"{name} += 1" for name in scope.names_at(node))]:
        if code is not None and "\n" not in code:
            yield scope.after(COST + 0.8, node, f"else:\n    {code}")


def _statements(node: ast.stmt, scope: CodeScope) -> List[Tuple[float, str]]:
    found: List[Tuple[float, str]] = []
    for statement in scope.donors.statements:
        code = scope.dedented(statement)
        if code is None:
            continue
        found.append((0.5, code))
        if (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Call)
            and "\n" not in code
        ):
            found += _with_other_argument(node, statement.value, scope)
    names = [name for name in scope.names_at(node) if name not in ("self", "cls")]
    for name in names:
        found += [(1.0, f"{name} = {other}") for other in names if other != name]
        found += [
            (1.3, f"{name} = {value}")
            for value in ("0", "[]", "None", "1", "''", "True", "False", "{}")
        ]
    # A counter may lack its update.
    for name in scope.names_with_type(node, "int", "float"):
        found += [
            (0.6, f"{name} += 1"),
            (0.6, f"{name} -= 1"),
            (1.1, f"{name} = -{name}"),
            (1.2, f"{name} = abs({name})"),
        ]
    for name in scope.names_with_type(node, "list"):
        found += [
            (1.2, f"{name} = sorted({name})"),
            (1.2, f"{name}.sort()"),
            (1.3, f"{name}.pop()"),
        ]
    for name in scope.names_with_type(node, "str"):
        found += [(1.2, f"{name} = {name}.strip()"), (1.3, f"{name} = {name}.lower()")]
    for method, kind in (("append", "list"), ("add", "set")):
        for name in scope.names_with_type(node, kind):
            found += [(0.8, f"{name}.{method}({other})") for other in names if other != name]
    return list({code: (extra, code) for extra, code in reversed(found)}.values())[::-1]


def _with_other_argument(
    node: ast.stmt, call: ast.Call, scope: CodeScope
) -> List[Tuple[float, str]]:
    found: List[Tuple[float, str]] = []
    base = scope.source.span(call)[0]
    text = scope.source.text(call).encode()
    for argument in call.args:
        start, end = scope.source.span(argument)
        for name in scope.names_at(node):
            for extra, other in ((0.6, name), (1.0, f"{name}[-1]"), (1.0, f"{name}[0]")):
                code = text[: start - base] + other.encode() + text[end - base :]
                found.append((extra, code.decode()))
    return found
