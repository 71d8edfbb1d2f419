"""A missing validation: `if not a: raise ValueError`, with exceptions of the file or the tests."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional

from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

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
    (
        "def f(a):\n    return a\n",
        "def f(a):\n    if not a:\n        raise ValueError\n    return a\n",
    ),
    (
        "def f(a):\n    return a\n",
        "def f(a):\n    if a < 0:\n        raise ValueError\n    return a\n",
    ),
)
UNTOUCHED = ("class A:\n    x = 1\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Raise before a statement if a name is None, empty or negative, or a known condition holds."""
    if not isinstance(node, ast.stmt) or not scope.is_inside(node) or isinstance(node, ast.Raise):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    # Validation is mostly at the beginning of a function.
    late = 0.0 if _is_early(node, scope) else 0.8
    expected = scope.literals.exceptions
    raised = [
        (0.0, text)
        for text in dict.fromkeys(scope.surroundings.raised)
        if "\n" not in text and len(text) < 80
    ]
    names = [(0.2 if name in expected else 0.5, name) for name in scope.surroundings.exceptions]
    expected_calls = [
        (0.1, f"{name}({text!r})") for name in expected[:2] for text in scope.literals.messages[:2]
    ]
    made = [*expected_calls, *raised[:4], *names[:4]] or [(0.5, "ValueError"), (0.6, "TypeError")]
    # A test that expects an exception makes a missing validation likely.
    bonus = -1.0 if expected else 0.0
    for extra, condition in _conditions(node, scope):
        for more, text in made:
            yield scope.before(
                max(COST - 1.0, COST + bonus + late + extra + more),
                node,
                f"if {condition}:\n    raise {text}",
            )


def _is_early(node: ast.stmt, scope: CodeScope) -> bool:
    block, index = scope.block(node)
    return scope.parent(node) is scope.root and (
        index == 0 or (index == 1 and isinstance(block[0], ast.Expr))
    )


def _conditions(node: ast.stmt, scope: CodeScope) -> List[tuple]:  # type: ignore[type-arg]
    found = []
    for name in scope.names_at(node)[:6]:
        if name in ("self", "cls"):
            continue
        found += [
            (0.0, f"{name} is None"),
            (0.0, f"not {name}"),
            (0.2, f"{name} < 0"),
            (0.3, f"{name} == 0"),
        ]
        found += [
            (0.4, f"{name} <= 0"),
            (0.6, f"not isinstance({name}, str)"),
            (0.6, f"not isinstance({name}, int)"),
        ]
    if scope.literals.exceptions:
        bounds = [n for n in (*scope.literals.numbers[:6], *scope.numbers[:6]) if abs(n) > 1]
        for name in scope.names_with_type(node, "int", "float")[:4]:
            found += [
                (0.5, f"{name} {sign} {bound}")
                for bound in dict.fromkeys(bounds)
                for sign in (">", ">=", "<")
            ]
        found += _of_expected(node, scope)
    conditions = [text for text in map(scope.text, scope.donors.conditions) if "\n" not in text]
    return found + [(0.4, text) for text in conditions[:6]]


def _of_expected(node: ast.stmt, scope: CodeScope) -> List[tuple]:  # type: ignore[type-arg]
    """Return conditions on inputs that a test may expect to be rejected.

    These are booleans for numbers, and text with unusual characters.
    """
    if not _is_early(node, scope):
        return []
    own = [name for name in scope.parameters if name not in ("self", "cls")][:4]
    found = [(0.3, f"isinstance({name}, bool)") for name in own]
    odd = dict.fromkeys(
        c for text in scope.literals.strings for c in text if not c.isalnum() and c != " "
    )
    likely = sorted(odd, key=lambda c: (c.isprintable(), not c.isspace()))[:4]
    texts = [name for name in scope.names_with_type(node, "str") if name in own]
    return found + [
        (0.1 * rank, f"{c!r} in {name}") for name in texts for rank, c in enumerate(likely)
    ]
