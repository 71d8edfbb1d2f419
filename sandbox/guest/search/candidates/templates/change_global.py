"""The wrong function, class or constant of the file: a sibling with a similar name was meant."""

from __future__ import annotations

import ast
from difflib import SequenceMatcher
from typing import Dict, Iterator, List, Optional, Tuple

from sandbox.guest.search.source.bindings import BUILTINS
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.6
CHANGES = (
    (
        "MIN_SIZE = 1\nMAX_SIZE = 2\n\n\ndef f():\n    return MIN_SIZE\n",
        "MIN_SIZE = 1\nMAX_SIZE = 2\n\n\ndef f():\n    return MAX_SIZE\n",
    ),
    (
        "from m import load, loads\n\n\ndef f(a):\n    return load(a)\n",
        "from m import load, loads\n\n\ndef f(a):\n    return loads(a)\n",
    ),
    (
        (
            "def g(a):\n    return a\n\n\ndef h(a):\n    return a\n\n\ndef f(a):\n"
            "    return map(g, a)\n"
        ),
        (
            "def g(a):\n    return a\n\n\ndef h(a):\n    return a\n\n\ndef f(a):\n"
            "    return map(h, a)\n"
        ),
    ),
    (
        "import m\nfrom n import g\n\n\ndef f(a):\n    return g(a) or m.g\n",
        "import m\nfrom n import g\n\n\ndef f(a):\n    return m.g(a) or m.g\n",
    ),
    (
        "LIMIT = 5\n\n\ndef f(a):\n    return a[:10]\n",
        "LIMIT = 5\n\n\ndef f(a):\n    return a[:LIMIT]\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)

MAX_NAMES = 10


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Use another global of the same kind, most similar first, or a constant for a literal."""
    if not scope.is_function:
        return
    if (
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.id not in scope.names_at(node)
    ):
        kin = _sorts(scope)
        sort = next((sort for sort, names in kin.items() if node.id in names), "")
        # Built-ins have a template for renamed functions.
        if not sort and node.id in BUILTINS:
            return
        start, end = scope.source.span(node)
        others = [name for name in kin.get(sort, ()) if name != node.id]
        ranked = sorted(others, key=lambda name: (-_likeness(name, node.id), name))[:MAX_NAMES]
        for rank, name in enumerate(ranked):
            yield ProposedEdits(COST + 0.05 * rank, (TextEdit(start, end, name),))
        for owner in _owners(scope).get(node.id, ())[:3]:
            yield ProposedEdits(COST + 0.1, (TextEdit(start, start, f"{owner}."),))
    if (
        isinstance(node, ast.Constant)
        and type(node.value) in (int, float, str)
        and scope.is_value(node)
    ):
        for name in _sorts(scope).get("constant", ())[:MAX_NAMES]:
            yield scope.replace(COST + 0.6, node, name)


def _owners(scope: CodeScope) -> Dict[str, List[str]]:
    """Return the imported names that have an attribute, by attribute."""
    if "owners" not in scope.source.notes:
        found: Dict[str, Dict[str, None]] = {}
        for node in scope.source.nodes:
            owner = node.value if isinstance(node, ast.Attribute) else None
            if (
                isinstance(node, ast.Attribute)
                and isinstance(owner, ast.Name)
                and owner.id in scope.outer_names
            ):
                found.setdefault(node.attr, {})[owner.id] = None
        scope.source.notes["owners"] = {name: list(owners) for name, owners in found.items()}
    owners: Dict[str, List[str]] = scope.source.notes["owners"]
    return owners


def _likeness(one: str, other: str) -> float:
    return round(SequenceMatcher(None, one, other).ratio(), 3)


def _sorts(scope: CodeScope) -> Dict[str, List[str]]:
    """Return the global names of the file by kind: functions, classes, constants, imports."""
    notes = scope.source.notes
    if "globals_by_sort" not in notes:
        found: Dict[str, List[str]] = {}
        for name, sort in _globals(scope.source.tree):
            found.setdefault(sort, []).append(name)
        notes["globals_by_sort"] = {
            sort: list(dict.fromkeys(names)) for sort, names in found.items()
        }
    sorts: Dict[str, List[str]] = notes["globals_by_sort"]
    return sorts


def _globals(tree: ast.Module) -> Iterator[Tuple[str, str]]:
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, "function"
        elif isinstance(node, ast.ClassDef):
            yield node.name, "class"
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                yield name, "class" if name[:1].isupper() and not name.isupper() else "function"
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and not target.id.startswith("__"):
                    yield target.id, "constant"
