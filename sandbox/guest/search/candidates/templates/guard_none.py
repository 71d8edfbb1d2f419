"""A missing check for None, empty or zero: an early return, or a statement made conditional."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 3.4
CHEAPEST = COST - 0.6
CHANGES = (
    (
        "def f(a):\n    return a[0]\n",
        "def f(a):\n    if not a:\n        return None\n    return a[0]\n",
    ),
    (
        "def f(a, b):\n    a.append(b)\n    return a\n",
        "def f(a, b):\n    if b not in a:\n        a.append(b)\n    return a\n",
    ),
    (
        "def f(a, b):\n    b = 1\n    for x in a:\n        g(x)\n",
        (
            "def f(a, b):\n    b = 1\n    for x in a:\n        if not x:\n            b = 1\n"
            "        g(x)\n"
        ),
    ),
    (
        "def f(a):\n    g(a.b)\n    return a\n",
        "def f(a):\n    if a.b is not None:\n        g(a.b)\n    return a\n",
    ),
)
UNTOUCHED = ("class A:\n    x = 1\n",)

EXITS = (
    ("NoneType", "return None"), ("int", "return 0"), ("int", "return 1"), ("bool", "return False"),
    ("bool", "return True"), ("list", "return []"), ("str", "return ''"), ("dict", "return {}"),
    ("int", "return -1"),
)  # fmt: skip
LOOPS = (ast.For, ast.AsyncFor, ast.While)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Exit early if a name is empty, or make a statement conditional."""
    if (
        not isinstance(node, ast.stmt)
        or not scope.is_inside(node)
        or isinstance(node, ast.ClassDef)
    ):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    conditions = [text for text in map(scope.text, scope.donors.conditions) if "\n" not in text]
    yield from _leave_early(node, conditions, scope)
    code = scope.dedented(node)
    if (
        isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Return, ast.Raise))
        and code
        and "\n" not in code
    ):
        for extra, condition in _tests(node, conditions, scope):
            yield scope.restate(COST + extra, node, f"if {condition}:\n    {code}")


def _leave_early(
    node: ast.stmt, conditions: List[str], scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    checks = _empty_checks(node, scope)
    in_loop = scope.surroundings.around(node, LOOPS) is not None
    for wait, leave in _exits(node, scope, in_loop=in_loop):
        # Guards are mostly at the beginning of a block.
        early = -0.4 if _starts_block(node, scope) else 0.0
        for extra, condition in [*checks, *((0.1, text) for text in conditions)]:
            if wait + extra < 0.9:
                yield scope.before(
                    COST + 0.2 + early + extra + wait, node, f"if {condition}:\n    {leave}"
                )


def _exits(node: ast.stmt, scope: CodeScope, *, in_loop: bool) -> List[Tuple[float, str]]:
    """Return exits with costs: those of the function first, then values of its return types."""
    returns = [s for s in scope.donors.statements if isinstance(s, ast.Return)]
    used = [text for text in map(scope.text, returns) if "\n" not in text]
    kinds = [scope.infer_kind(s.value) for s in returns if s.value is not None]
    fitting = {name for kind in kinds if kind is not None for name in kind.names}
    found = [(0.0, text) for text in used]
    found += [(0.0, "continue"), (0.1, "break")] if in_loop else []
    found += [(0.1 if kind in fitting else 0.4, text) for kind, text in EXITS]
    found += [
        (0.5, f"return {name}") for name in scope.names_at(node)[:5] if name not in ("self", "cls")
    ]
    if in_loop:
        plain = [s for s in scope.donors.statements if isinstance(s, (ast.Assign, ast.AugAssign))]
        codes = [scope.dedented(s) for s in plain[:6]]
        found += [(0.4, code) for code in codes if code is not None and "\n" not in code]
    return list({text: (extra, text) for extra, text in reversed(found)}.values())[::-1]


def _starts_block(node: ast.stmt, scope: CodeScope) -> bool:
    block, index = scope.block(node)
    doc = index == 1 and isinstance(block[0], ast.Expr) and isinstance(block[0].value, ast.Constant)
    return index == 0 or doc


def _empty_checks(node: ast.stmt, scope: CodeScope) -> List[Tuple[float, str]]:
    found: List[Tuple[float, str]] = []
    for name in scope.names_at(node):
        if name in ("self", "cls"):
            continue
        found += [
            (0.0, f"not {name}"),
            (0.0, f"{name} is None"),
            (0.2, f"{name} == 0"),
            (0.4, f"{name} == 1"),
        ]
        found += [
            (0.4, f"{name} < 0"),
            (0.4, name),
            (0.4, f"len({name}) == 1"),
            (0.5, f"len({name}) < 2"),
        ]
        found += [(0.6, f"isinstance({name}, str)"), (0.6, f"{name} <= 0")]
    for text in _attributes(scope):
        found += [(0.3, f"not {text}"), (0.3, f"{text} is None"), (0.5, text)]
    return found


def _attributes(scope: CodeScope) -> List[str]:
    """Return the attributes that the function reads."""
    texts = [scope.text(e) for e in scope.donors.expressions if isinstance(e, ast.Attribute)]
    called = {scope.text(n.func) for n in scope.nodes if isinstance(n, ast.Call)}
    return [text for text in texts if "\n" not in text and text not in called][:6]


def _tests(node: ast.stmt, conditions: List[str], scope: CodeScope) -> List[Tuple[float, str]]:
    names = [name for name in scope.names_at(node) if name not in ("self", "cls")]
    pairs = [(one, other) for one in names[:8] for other in names[:8] if one != other]
    found = [(0.0, text) for text in conditions]
    found += [
        (0.0, f"{one} {op} {other}")
        for one, other in pairs
        if one < other
        for op in ("==", "!=", "<", ">")
    ]
    found += [(0.0, f"{one} not in {other}") for one, other in pairs]
    found += [(0.3, f"{one} in {other}") for one, other in pairs]
    for name in names:
        found += [
            (-0.2, f"{name} is not None"),
            (-0.2, name),
            (0.1, f"not {name}"),
            (0.3, f"{name} > 0"),
        ]
    for text in _attributes(scope):
        found += [
            (0.1, f"{text} is not None"),
            (0.1, text),
            (0.3, f"not {text}"),
            (0.4, f"{text} is None"),
        ]
        found += [(0.4, f"{name} {op} {text}") for name in names[:4] for op in ("in", "not in")]
    return list({text: (extra, text) for extra, text in reversed(found)}.values())[::-1]
