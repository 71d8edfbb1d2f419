"""A condition too few: `if a and b` where only `if a` stands."""

from __future__ import annotations

import ast
import itertools
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.render import AND, NOT, OR, fitting
from sandbox.guest.search.scope import Proposal, Scope

COST = 2.5
CHANGES = (
    ("def f(a, b):\n    if a:\n        return 1\n", "def f(a, b):\n    if a and b:\n        return 1\n"),
    (
        "def f(a, b):\n    while a or b:\n        pass\n",
        "def f(a, b):\n    while (a or b) and b is not None:\n        pass\n",
    ),
    (
        "def f(a, b):\n    if a.next:\n        return 1\n",
        "def f(a, b):\n    if a is None or a.next:\n        return 1\n",
    ),
    ("def f(n):\n    if n > 3:\n        return 1\n", "def f(n):\n    if n > 3 and n % 2 == 0:\n        return 1\n"),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)


def propose(node: ast.AST, scope: Scope) -> Iterator[Optional[Proposal]]:
    """One more test of a name, or another condition of the function, joined by `and` or `or`."""
    if not scope.is_value(node):
        return
    returned = isinstance(scope.parent(node), ast.Return)
    if not scope.is_condition(node) and not (returned and isinstance(node, (ast.Compare, ast.BoolOp, ast.Call))):
        return
    own = scope.text(node)
    for extra, atom in _atoms(node, scope):
        if atom == own:
            continue
        for word, level in (("and", AND), ("or", OR)):
            mine, other = scope.part(node, level), fitting(atom, level)
            yield scope.replace(COST + extra, node, f"{mine} {word} {other}")
            yield scope.replace(COST + extra + 0.2, node, f"{other} {word} {mine}")


def _atoms(node: ast.AST, scope: Scope) -> List[Tuple[float, str]]:
    names = [name for name in scope.names_at(node) if name not in ("self", "cls")]
    conditions = [c for c in scope.donors.conditions if c is not node]
    atoms = [(0.0, scope.text(c)) for c in conditions]
    for name in names:
        atoms += [(0.0, f"{name} is None"), (0.0, f"{name} is not None"), (0.0, name), (0.0, f"not {name}")]
        atoms += [(0.3, f"{name} == 0"), (0.3, f"{name} > 0"), (0.3, f"{name} < 0"), (0.4, f"{name} != 0")]
    atoms += [(0.1, f"not {scope.part(c, NOT)}") for c in conditions]
    compared = [e for e in scope.donors.expressions if isinstance(e, ast.Compare) and e is not node]
    atoms += [(0.2, scope.text(e)) for e in compared]
    for one, other in itertools.permutations(names[:7], 2):
        atoms += [(0.5, f"{one} < {other}"), (0.5, f"{one} in {other}")]
        if one < other:
            atoms += [(0.4, f"{one} {sign} {other}") for sign in ("==", "!=", "is not")]
    for name in names:
        atoms += [(0.6, f"{name} % 2 == 0"), (0.6, f"{name} % 2 != 0"), (0.5, f"len({name}) > 1")]
        atoms += [(0.5, f"isinstance({name}, str)"), (0.6, f"not isinstance({name}, str)")]
        atoms += [(0.5, f"{helper}({name})") for helper in scope.helpers]
    return list({text: (extra, text) for extra, text in reversed(atoms)}.values())[::-1]
