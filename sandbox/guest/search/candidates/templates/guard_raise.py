"""A missing refusal: `if not a: raise ValueError`, with exceptions that the file or the failing tests know."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional

from sandbox.guest.search.source.scope import Proposal, Scope

COST = 3.0
CHEAPEST = COST - 1.0
CHANGES = (
    (
        "def f(a):\n    return a[0]\n\n\ndef g():\n    raise KeyError('x')\n",
        (
            "def f(a):\n    if a is None:\n        raise KeyError('x')\n    return a[0]\n\n\n"
            "def g():\n    raise KeyError('x')\n"
        ),
    ),
    ("def f(a):\n    return a\n", "def f(a):\n    if not a:\n        raise ValueError\n    return a\n"),
    ("def f(a):\n    return a\n", "def f(a):\n    if a < 0:\n        raise ValueError\n    return a\n"),
)
UNTOUCHED = ("class A:\n    x = 1\n",)


def propose(node: ast.AST, scope: Scope) -> Iterator[Optional[Proposal]]:
    """Raise in front of a statement, when a name is None, empty, negative, or what a condition here says."""
    if not isinstance(node, ast.stmt) or not scope.is_inside(node) or isinstance(node, ast.Raise):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    late = 0.0 if _is_early(node, scope) else 0.8
    expected = scope.literals.exceptions
    raised = [(0.0, text) for text in dict.fromkeys(scope.surroundings.raised) if "\n" not in text and len(text) < 80]
    names = [(0.2 if name in expected else 0.5, name) for name in scope.surroundings.exceptions]
    said = [(0.1, f"{name}({text!r})") for name in expected[:2] for text in scope.literals.messages[:2]]
    made = [*said, *raised[:4], *names[:4]] or [(0.5, "ValueError"), (0.6, "TypeError")]
    bonus = -1.0 if expected else 0.0
    for extra, condition in _conditions(node, scope):
        for more, text in made:
            yield scope.before(
                max(COST - 1.0, COST + bonus + late + extra + more), node, f"if {condition}:\n    raise {text}"
            )


def _is_early(node: ast.stmt, scope: Scope) -> bool:
    block, index = scope.block(node)
    return scope.parent(node) is scope.root and (index == 0 or (index == 1 and isinstance(block[0], ast.Expr)))


def _conditions(node: ast.stmt, scope: Scope) -> List[tuple]:  # type: ignore[type-arg]
    found = []
    for name in scope.names_at(node)[:6]:
        if name in ("self", "cls"):
            continue
        found += [(0.0, f"{name} is None"), (0.0, f"not {name}"), (0.2, f"{name} < 0"), (0.3, f"{name} == 0")]
        found += [(0.4, f"{name} <= 0"), (0.6, f"not isinstance({name}, str)"), (0.6, f"not isinstance({name}, int)")]
    if scope.literals.exceptions:
        bounds = [n for n in (*scope.literals.numbers[:6], *scope.numbers[:6]) if abs(n) > 1]
        for name in scope.names_of(node, "int", "float")[:4]:
            found += [(0.5, f"{name} {sign} {bound}") for bound in dict.fromkeys(bounds) for sign in (">", ">=", "<")]
        found += _of_expected(node, scope)
    conditions = [text for text in map(scope.text, scope.donors.conditions) if "\n" not in text]
    return found + [(0.4, text) for text in conditions[:6]]


def _of_expected(node: ast.stmt, scope: Scope) -> List[tuple]:  # type: ignore[type-arg]
    """What a test that expects a refusal may have handed in: a truth value for a number, text with odd characters."""
    if not _is_early(node, scope):
        return []
    own = [name for name in scope.parameters if name not in ("self", "cls")][:4]
    found = [(0.3, f"isinstance({name}, bool)") for name in own]
    odd = dict.fromkeys(c for text in scope.literals.strings for c in text if not c.isalnum() and c != " ")
    likely = sorted(odd, key=lambda c: (c.isprintable(), not c.isspace()))[:4]
    texts = [name for name in scope.names_of(node, "str") if name in own]
    return found + [(0.1 * rank, f"{c!r} in {name}") for name in texts for rank, c in enumerate(likely)]
