"""A guard, statement, condition or value that similar functions of the file have."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from typing import Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from sandbox.guest.search.source.donors import COMPOUND, WITHOUT_USE, size
from sandbox.guest.search.source.render import AND, OR, parenthesize
from sandbox.guest.search.source.scope import CodeScope, FunctionNode, ProposedEdits

COST = 2.6
CHANGES = (
    (
        (
            "def f(a):\n    return a[0]\n\n\ndef g(a):\n    if not a:\n        return None\n"
            "    return a[1]\n"
        ),
        (
            "def f(a):\n    if not a:\n        return None\n    return a[0]\n\n\n"
            "def g(a):\n    if not a:\n        return None\n    return a[1]\n"
        ),
    ),
    (
        "def f(a):\n    return a\n\n\ndef g(a):\n    a = a.strip()\n    return a\n",
        (
            "def f(a):\n    a = a.strip()\n    return a\n\n\ndef g(a):\n    a = a.strip()\n"
            "    return a\n"
        ),
    ),
    (
        "def f(a):\n    if a.x:\n        return 1\n\n\ndef g(a):\n    if a.y:\n        return 2\n",
        (
            "def f(a):\n    if a.x and a.y:\n        return 1\n\n\ndef g(a):\n    if a.y:\n"
            "        return 2\n"
        ),
    ),
    (
        "def f(a):\n    return h(a)\n\n\ndef g(a):\n    return h(a.strip())\n",
        "def f(a):\n    return h(a.strip())\n\n\ndef g(a):\n    return h(a.strip())\n",
    ),
    (
        (
            "def f(a):\n    return a\n\n\ndef g(a):\n    return a + h(a)\n\n\ndef h(a):\n"
            "    return a\n"
        ),
        (
            "def f(a):\n    return a + h(a)\n\n\ndef g(a):\n    return a + h(a)\n\n\ndef h(a):\n"
            "    return a\n"
        ),
    ),
    (
        (
            "from m import n\n\n\ndef f(a):\n    return [a]\n\n\ndef g(a):\n    a = n(a)\n"
            "    return a\n\n\ndef h(a):\n    a = n(a)\n    return a\n"
        ),
        (
            "from m import n\n\n\ndef f(a):\n    a = n(a)\n    return [a]\n\n\n"
            "def g(a):\n    a = n(a)\n    return a\n\n\ndef h(a):\n    a = n(a)\n    return a\n"
        ),
    ),
)
VALUES = (
    ast.Call,
    ast.BinOp,
    ast.Compare,
    ast.BoolOp,
    ast.IfExp,
    ast.Subscript,
    ast.ListComp,
    ast.JoinedStr,
    ast.Tuple,
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)

MAX_DONORS = 30
"""Maximum donors of each kind per function."""


class BorrowedCode(NamedTuple):
    """Code that other functions of the file lend."""

    statements: Tuple[str, ...]
    conditions: Tuple[str, ...]
    calls: Tuple[Tuple[str, str], ...]
    """Calls and subscripts, with the name of the function or container."""
    beginnings: Tuple[str, ...]
    """Statements that several functions begin with, most frequent first."""
    values: Tuple[Tuple[str, str], ...]
    """Assigned values with the text of their target, and returned values with an empty target."""


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Insert statements, conditions, calls and values of other functions."""
    if not scope.is_function or node is scope.root:
        return
    if isinstance(node, ast.stmt):
        yield from _insert(node, scope)
    elif isinstance(node, ast.expr) and scope.is_value(node):
        if scope.is_condition(node):
            yield from _condition(node, scope)
        yield from _value(node, scope)
        name, own = _called(node), scope.text(node)
        if name:
            others = [
                text
                for called, text in _borrowed_code(scope).calls
                if called == name and text != own
            ]
            for rank, text in enumerate(others[:12]):
                yield scope.replace(COST - 0.4 + 0.05 * rank, node, text)


def _insert(node: ast.stmt, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    for rank, code in enumerate(_borrowed_code(scope).statements):
        yield scope.before(COST + 0.03 * rank, node, code)
    if scope.parent(node) is scope.root and _begins(node, scope):
        for rank, code in enumerate(_borrowed_code(scope).beginnings[:6]):
            yield scope.before(COST - 0.7 + 0.1 * rank, node, code)


def _condition(node: ast.expr, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    own = scope.text(node)
    for rank, text in enumerate(_borrowed_code(scope).conditions):
        if text != own:
            cost = COST + 0.3 + 0.03 * rank
            yield scope.replace(
                cost, node, f"{scope.part(node, AND)} and {parenthesize(text, AND)}"
            )
            yield scope.replace(cost, node, f"{scope.part(node, OR)} or {parenthesize(text, OR)}")
            yield scope.replace(cost + 0.1, node, text)


CHEAPEST = COST - 0.7


def _begins(node: ast.stmt, scope: CodeScope) -> bool:
    block, index = scope.block(node)
    return index == int(isinstance(block[0], ast.Expr) and isinstance(block[0].value, ast.Constant))


def _value(node: ast.expr, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Replace a value by one that other functions return, or assign to the same target."""
    parent = scope.parent(node)
    target = ""
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = scope.text(parent.targets[0])
    elif not isinstance(parent, ast.Return):
        return
    own = scope.text(node)
    others = [text for name, text in _borrowed_code(scope).values if name == target and text != own]
    for rank, text in enumerate(others[:8]):
        yield scope.replace(COST - 0.3 + 0.06 * rank, node, text)


def _called(node: ast.AST) -> str:
    function = (
        node.func
        if isinstance(node, ast.Call)
        else node.value
        if isinstance(node, ast.Subscript)
        else None
    )
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _borrowed_code(scope: CodeScope) -> BorrowedCode:
    """Return the donors of a function: its own class first, then by similarity of names.

    The result is cached in the notes of the file.
    """
    known: Dict[ast.AST, BorrowedCode] = scope.source.notes.setdefault("lent", {})
    if scope.root not in known:
        known[scope.root] = _collect_code(scope)
    return known[scope.root]


def _collect_code(scope: CodeScope) -> BorrowedCode:
    names = _Known(_names(scope.root), scope.outer_names)
    owner = scope.source.places[scope.root].parent
    others = [n for n in scope.source.nodes if isinstance(n, FunctionNode) and n is not scope.root]
    ranked = sorted(
        others,
        key=lambda n: (
            scope.source.places[n].parent is not owner,
            -_likeness(names.mine, _names(n)),
            n.lineno,
        ),
    )
    own = {scope.text(n) for n in scope.nodes if isinstance(n, (ast.stmt, ast.expr))}
    found = _Found([], [], [], [], [])
    # Calls with destructive effects are never borrowed.
    dangerous = scope.dangers.around(scope.source.places)
    lenders = [(function, scope, dangerous) for function in ranked[:20]]
    # Functions of the same name in other files often implement the same interface.
    namesakes = scope.source.notes.get("namesakes", {}).get(getattr(scope.root, "name", ""), ())
    for source, node in namesakes[:4]:
        if source is not scope.source:
            lender = CodeScope(source, node)
            lenders.append((node, lender, lender.dangers.around(source.places)))
    for function, lender, dangerous in lenders:
        found.beginnings.extend(_beginning(function, names, dangerous, lender))
        for node in ast.walk(function):
            if node not in dangerous and node is not function:
                _collect_node(node, names, found, lender)
    # A beginning shared by several functions is a convention of the file.
    often = Counter(code for code in found.beginnings if code not in own)
    return BorrowedCode(
        tuple(code for code in _nearest(found.statements) if code not in own)[:MAX_DONORS],
        tuple(code for code in _nearest(found.conditions) if "\n" not in code and code not in own)[
            :MAX_DONORS
        ],
        tuple(dict.fromkeys(c for c in found.calls if "\n" not in c[1])),
        tuple(
            sorted(
                (code for code in often if often[code] > 1), key=lambda code: (-often[code], code)
            )
        ),
        tuple(dict.fromkeys(v for v in found.values if "\n" not in v[1])),
    )


class _Known(NamedTuple):
    """Names that a function reads, and names that it could read."""

    mine: Set[str]
    outside: Set[str]

    def distance(self, node: ast.AST) -> Optional[int]:
        """Return 0 if all names are read here, 1 if some are and the rest are known, else None."""
        names = _names(node)
        if names <= self.mine:
            return 0
        new = {name for name in names - self.mine - self.outside if not hasattr(builtins, name)}
        return 1 if names & self.mine and not new else None


class _Found(NamedTuple):
    statements: List[Tuple[int, str]]
    conditions: List[Tuple[int, str]]
    calls: List[Tuple[str, str]]
    beginnings: List[str]
    values: List[Tuple[str, str]]


def _nearest(found: List[Tuple[int, str]]) -> List[str]:
    return list(dict.fromkeys(code for _, code in sorted(found, key=lambda pair: pair[0])))


def _collect_node(node: ast.AST, names: _Known, found: _Found, scope: CodeScope) -> None:
    """Collect what a node of another function lends."""
    if isinstance(node, ast.stmt):
        found.statements.extend(_statement(node, names, scope))
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        distance = names.distance(node.test)
        found.conditions.extend([(distance, scope.text(node.test))] if distance is not None else [])
    if isinstance(node, (ast.Call, ast.Subscript)) and _is_borrowable(node, names.mine):
        found.calls.append((_called(node), scope.text(node)))
    value = node.value if isinstance(node, (ast.Return, ast.Assign)) else None
    if isinstance(value, VALUES) and size(value) <= 25 and names.distance(value) is not None:
        target = scope.text(node.targets[0]) if isinstance(node, ast.Assign) else ""
        found.values.append((target, scope.text(value)))


def _beginning(
    function: ast.AST, names: _Known, dangerous: Set[ast.AST], scope: CodeScope
) -> List[str]:
    """Return the first statement of a function, if it can be used here."""
    body: List[ast.stmt] = getattr(function, "body", [])
    first = next(
        (s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))),
        None,
    )
    if first is None or first in dangerous:
        return []
    return [code for _, code in _statement(first, names, scope)]


def _is_borrowable(node: ast.AST, mine: Set[str]) -> bool:
    read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    return read and size(node) <= 12 and _names(node) <= mine


def _statement(node: ast.stmt, names: _Known, scope: CodeScope) -> List[Tuple[int, str]]:
    """Return a simple statement, or an `if` around one, with the distance of its names."""
    simple = node
    if (
        isinstance(node, ast.If)
        and len(node.body) == 1
        and not node.orelse
        and scope.source.whole_lines(node)
    ):
        simple = node.body[0]
    if isinstance(simple, (*COMPOUND, *WITHOUT_USE, ast.If)) or size(node) > 40:
        return []
    if isinstance(simple, ast.Expr) and isinstance(simple.value, ast.Constant):
        return []
    distance, code = names.distance(node), scope.dedented(node)
    return [(distance, code)] if code is not None and distance is not None else []


def _names(node: ast.AST) -> Set[str]:
    """Return the names that are read, and the parameters of lambdas."""
    names = {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    return names | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}


def _likeness(one: Set[str], other: Set[str]) -> float:
    return round(len(one & other) / max(1, len(one | other)), 3)
