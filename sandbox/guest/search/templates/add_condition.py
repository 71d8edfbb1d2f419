"""A condition too few: `if a and b` where only `if a` stands."""

from __future__ import annotations

import ast
import itertools
from typing import Iterator, List, Optional

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
    for rank, atom in enumerate(_atoms(node, scope)):
        if atom == own:
            continue
        late = min(0.4, 0.004 * rank)
        for word, level in (("and", AND), ("or", OR)):
            mine, other = scope.part(node, level), fitting(atom, level)
            yield scope.replace(COST + late, node, f"{mine} {word} {other}")
            yield scope.replace(COST + 0.2 + late, node, f"{other} {word} {mine}")


def _atoms(node: ast.AST, scope: Scope) -> List[str]:
    atoms: List[str] = []
    names = scope.names_at(node)
    for name in names:
        atoms += [name, f"not {name}", f"{name} is None", f"{name} is not None"]
        atoms += [f"{name} == 0", f"{name} > 0", f"{name} < 0", f"{name} % 2 == 0", f"{name} % 2 != 0"]
        atoms += [f"{helper}({name})" for helper in scope.helpers]
    for one, other in itertools.permutations(names[:7], 2):
        atoms += [f"{one} < {other}", f"{one} in {other}"]
        if one < other:
            atoms += [f"{one} == {other}", f"{one} != {other}", f"{one} is not {other}"]
    conditions = [c for c in scope.donors.conditions if c is not node]
    atoms += [scope.text(c) for c in conditions]
    atoms += [f"not {scope.part(c, NOT)}" for c in conditions]
    atoms += [scope.text(e) for e in scope.donors.expressions if isinstance(e, ast.Compare) and e is not node]
    return list(dict.fromkeys(atoms))
