"""The wrong comparison: `<` for `<=`, `in` for `not in`, `==` for `is`, or swapped sides."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import ATOM, COMPARE, OPERATOR_TEXT
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.0
CHANGES = (
    ("def f(a, b):\n    return a < b\n", "def f(a, b):\n    return a <= b\n"),
    ("def f(a, b):\n    return a in b\n", "def f(a, b):\n    return a not in b\n"),
    ("def f(a, b):\n    return a not in b\n", "def f(a, b):\n    return a in b\n"),
    ("def f(a, b):\n    return 0 < a < b\n", "def f(a, b):\n    return 0 <= a < b\n"),
    ("def f(a, b):\n    return a == b\n", "def f(a, b):\n    return set(a) == set(b)\n"),
    ("def f(a):\n    return a == 'X'\n", "def f(a):\n    return a.strip().upper() == 'X'\n"),
    ("def f(a):\n    return 'x' in a\n", "def f(a):\n    return a.startswith('x')\n"),
    ("def f(a):\n    return a.endswith('x')\n", "def f(a):\n    return 'x' in a\n"),
    ("def f(a):\n    return a == 'x'\n", "def f(a):\n    return a in ('x', 'X')\n"),
    ("def f(a, b):\n    return (a) < (b)  # so\n", "def f(a, b):\n    return (b) < (a)  # so\n"),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)

ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
EQUALITY = (ast.Eq, ast.NotEq)
MEMBERSHIP = {
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot, ast.Eq),
    ast.IsNot: (ast.Is, ast.NotEq),
}


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change the operator, swap the sides, or apply the same call to both sides."""
    if isinstance(node, ast.Call):
        yield from _beginning(node, scope)
    if not isinstance(node, ast.Compare):
        return
    sides = [node.left, *node.comparators]
    for index, operator in enumerate(node.ops):
        kind = type(operator)
        others = [new for new in ORDER if kind in ORDER and new is not kind]
        for new in [*others, *MEMBERSHIP.get(kind, ())]:
            edit = scope.gap(
                sides[index], sides[index + 1], OPERATOR_TEXT[kind], OPERATOR_TEXT[new]
            )
            # Equality is seldom confused with an order, yet both often pass the same tests.
            strange = {kind, new} <= set(ORDER) and (kind in EQUALITY) != (new in EQUALITY)
            yield ProposedEdits(COST + 0.4 * strange, (edit,)) if edit else None
    # Chained comparisons have no two sides to swap.
    if len(node.ops) > 1:
        return
    yield scope.swap(COST + 0.5, node.left, node.comparators[0])
    if isinstance(node.ops[0], EQUALITY):
        yield from _add_alternative(node, scope)
    if isinstance(node.ops[0], (ast.In, ast.NotIn, *EQUALITY)):
        yield from _of_text(node, scope)
        yield from _as_written(node, scope)
    middle = OPERATOR_TEXT[type(node.ops[0])]
    left, right = scope.text(node.left), scope.text(node.comparators[0])
    for wrapper in ("set", "sorted", "len", "abs", "str", "list", "int", "tuple"):
        yield scope.replace(COST + 1.2, node, f"{wrapper}({left}) {middle} {wrapper}({right})")
    left, right = scope.part(node.left, ATOM), scope.part(node.comparators[0], ATOM)
    for method in ("lower", "strip", "upper"):
        yield scope.replace(COST + 1.2, node, f"{left}.{method}() {middle} {right}.{method}()")


def _add_alternative(node: ast.Compare, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Compare with one more text: `a in ('x', 'y')` for `a == 'x'`."""
    side = node.comparators[0]
    if not isinstance(side, ast.Constant) or not isinstance(side.value, str):
        return
    word = "in" if isinstance(node.ops[0], ast.Eq) else "not in"
    left, own = scope.part(node.left, COMPARE + 1), scope.text(side)
    others = [side.value.swapcase(), "", *scope.literals.strings[:6]]
    for rank, other in enumerate(text for text in dict.fromkeys(others) if text != side.value):
        yield scope.replace(COST + 0.9 + 0.05 * rank, node, f"{left} {word} ({own}, {other!r})")
        yield scope.replace(COST + 1.0 + 0.05 * rank, node, f"{left} {word} ({other!r}, {own})")


def _beginning(node: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Replace `a.startswith(b)` by containment or equality."""
    function = node.func
    if (
        isinstance(function, ast.Attribute)
        and function.attr in ("startswith", "endswith")
        and len(node.args) == 1
    ):
        text, part = scope.part(function.value, COMPARE + 1), scope.part(node.args[0], COMPARE + 1)
        yield scope.replace(COST + 0.9, node, f"{part} in {text}")
        yield scope.replace(COST + 0.9, node, f"{text} == {part}")


def _of_text(node: ast.Compare, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Replace `a in b` or `a == b` by a test of the beginning or the end."""
    within = isinstance(node.ops[0], (ast.In, ast.NotIn))
    part, text = (node.left, node.comparators[0]) if within else (node.comparators[0], node.left)
    kinds = [scope.infer_kind(side) for side in (part, text)]
    if not any(kind is not None and "str" in kind.names for kind in kinds):
        return
    negation = "not " if isinstance(node.ops[0], (ast.NotIn, ast.NotEq)) else ""
    for method in ("startswith", "endswith"):
        yield scope.replace(
            COST + 0.9, node, f"{negation}{scope.part(text, ATOM)}.{method}({scope.text(part)})"
        )


def _as_written(node: ast.Compare, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Normalize the left side to the case of the texts it is compared with."""
    texts = [
        n.value
        for n in ast.walk(node.comparators[0])
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]
    words = "".join(texts)
    method = "upper" if words.isupper() else "lower" if words.islower() else ""
    if method and isinstance(node.left, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        text = scope.part(node.left, ATOM)
        yield scope.replace(COST + 0.5, node.left, f"{text}.{method}()")
        yield scope.replace(COST + 0.8, node.left, f"{text}.strip()")
        yield scope.replace(COST + 0.9, node.left, f"{text}.strip().{method}()")
