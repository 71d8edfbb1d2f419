"""What the neighbours do and this function does not: a guard, a statement or a condition of a similar function."""

from __future__ import annotations

import ast
from typing import Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from sandbox.guest.search.donors import COMPOUND, WITHOUT_USE, size
from sandbox.guest.search.render import AND, OR, fitting
from sandbox.guest.search.scope import FunctionNode, Proposal, Scope

COST = 2.6
CHANGES = (
    (
        "def f(a):\n    return a[0]\n\n\ndef g(a):\n    if not a:\n        return None\n    return a[1]\n",
        (
            "def f(a):\n    if not a:\n        return None\n    return a[0]\n\n\n"
            "def g(a):\n    if not a:\n        return None\n    return a[1]\n"
        ),
    ),
    (
        "def f(a):\n    return a\n\n\ndef g(a):\n    a = a.strip()\n    return a\n",
        "def f(a):\n    a = a.strip()\n    return a\n\n\ndef g(a):\n    a = a.strip()\n    return a\n",
    ),
    (
        "def f(a):\n    if a.x:\n        return 1\n\n\ndef g(a):\n    if a.y:\n        return 2\n",
        "def f(a):\n    if a.x and a.y:\n        return 1\n\n\ndef g(a):\n    if a.y:\n        return 2\n",
    ),
    (
        "def f(a):\n    return h(a)\n\n\ndef g(a):\n    return h(a.strip())\n",
        "def f(a):\n    return h(a.strip())\n\n\ndef g(a):\n    return h(a.strip())\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)

MOST = 30
"""Donors of each sort that one function is offered."""


class Lent(NamedTuple):
    """What the rest of the file lends."""

    statements: Tuple[str, ...]
    conditions: Tuple[str, ...]
    calls: Tuple[Tuple[str, str], ...]
    """Calls and look-ups, with the name of what is called or looked up in."""


def propose(node: ast.AST, scope: Scope) -> Iterator[Optional[Proposal]]:
    """Statements and guards of other functions, their conditions added, their calls of the same thing."""
    if not scope.is_function or node is scope.root:
        return
    if isinstance(node, ast.stmt):
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            for rank, code in enumerate(_lent(scope).statements):
                yield scope.before(COST + 0.03 * rank, node, code)
    elif isinstance(node, ast.expr) and scope.is_value(node):
        if scope.is_condition(node):
            yield from _condition(node, scope)
        name, own = _called(node), scope.text(node)
        if name:
            others = [text for called, text in _lent(scope).calls if called == name and text != own]
            for rank, text in enumerate(others[:12]):
                yield scope.replace(COST - 0.4 + 0.05 * rank, node, text)


def _condition(node: ast.expr, scope: Scope) -> Iterator[Optional[Proposal]]:
    own = scope.text(node)
    for rank, text in enumerate(_lent(scope).conditions):
        if text != own:
            cost = COST + 0.3 + 0.03 * rank
            yield scope.replace(cost, node, f"{scope.part(node, AND)} and {fitting(text, AND)}")
            yield scope.replace(cost, node, f"{scope.part(node, OR)} or {fitting(text, OR)}")
            yield scope.replace(cost + 0.1, node, text)


CHEAPEST = COST - 0.4


def _called(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Subscript) else None
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _lent(scope: Scope) -> Lent:
    """From the same class first, then from functions whose names in use are most alike; worked out once."""
    known: Dict[ast.AST, Lent] = scope.source.notes.setdefault("lent", {})
    if scope.root not in known:
        known[scope.root] = _collected(scope)
    return known[scope.root]


def _collected(scope: Scope) -> Lent:
    mine = _names(scope.root)
    owner = scope.source.places[scope.root].parent
    others = [n for n in ast.walk(scope.source.tree) if isinstance(n, FunctionNode) and n is not scope.root]
    ranked = sorted(
        others, key=lambda n: (scope.source.places[n].parent is not owner, -_likeness(mine, _names(n)), n.lineno)
    )
    own = {scope.text(n) for n in scope.nodes if isinstance(n, (ast.stmt, ast.expr))}
    statements: List[str] = []
    conditions: List[str] = []
    calls: List[Tuple[str, str]] = []
    dangerous = scope.dangers.around(scope.source.places)
    for function in ranked[:20]:
        for node in ast.walk(function):
            if node in dangerous or node is function:
                continue
            if isinstance(node, ast.stmt):
                statements += _statement(node, mine, scope)
            if isinstance(node, (ast.If, ast.While, ast.IfExp)):
                conditions += [scope.text(node.test)] if _names(node.test) <= mine else []
            if isinstance(node, (ast.Call, ast.Subscript)) and _is_lent(node, mine):
                calls.append((_called(node), scope.text(node)))
    return Lent(
        tuple(dict.fromkeys(s for s in statements if s not in own))[:MOST],
        tuple(dict.fromkeys(c for c in conditions if "\n" not in c and c not in own))[:MOST],
        tuple(dict.fromkeys(c for c in calls if "\n" not in c[1])),
    )


def _is_lent(node: ast.AST, mine: Set[str]) -> bool:
    read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    return read and size(node) <= 12 and _names(node) <= mine


def _statement(node: ast.stmt, mine: Set[str], scope: Scope) -> List[str]:
    """A simple statement, or an `if` that holds one simple statement."""
    simple = node
    if isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse and scope.source.whole_lines(node):
        simple = node.body[0]
    if isinstance(simple, (*COMPOUND, *WITHOUT_USE, ast.If)) or size(node) > 40 or not _names(node) <= mine:
        return []
    if isinstance(simple, ast.Expr) and isinstance(simple.value, ast.Constant):
        return []
    code = scope.dedented(node)
    return [code] if code is not None else []


def _names(node: ast.AST) -> Set[str]:
    """Names that are read and that Python itself does not give."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return names | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}


def _likeness(one: Set[str], other: Set[str]) -> float:
    return round(len(one & other) / max(1, len(one | other)), 3)
