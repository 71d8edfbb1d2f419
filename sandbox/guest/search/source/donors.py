"""Code elsewhere in the same function that a fix may reuse (the redundancy assumption)."""

from __future__ import annotations

import ast
from typing import Iterable, NamedTuple

from sandbox.guest.search.source.dangers import Dangers
from sandbox.guest.search.source.render import SourceFile

SMALL = 12
"""Maximum number of nodes of a reusable expression."""
COMPOUND = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.For,
    ast.While,
    ast.With,
    ast.Try,
)
WITHOUT_USE = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)


class Donors(NamedTuple):
    """Reusable code of one function."""

    conditions: tuple[ast.expr, ...]
    expressions: tuple[ast.expr, ...]
    statements: tuple[ast.stmt, ...]
    dictionaries: tuple[str, ...]
    """Names that hold a dictionary."""


def collect_donors(source: SourceFile, nodes: Iterable[ast.AST], dangers: Dangers) -> Donors:
    """Return distinct conditions, small expressions and simple statements, in source order."""
    dangerous = dangers.around(source.places)
    nodes = [node for node in nodes if node not in dangerous]
    conditions: dict[str, ast.expr] = {}
    expressions: dict[str, ast.expr] = {}
    targets: dict[str, ast.expr] = {}
    statements: dict[str, ast.stmt] = {}
    dictionaries: list[str] = []
    for node in nodes:
        for condition in _conditions(node):
            conditions.setdefault(ast.dump(condition), condition)
        if isinstance(node, ast.expr) and _lends(node, source) and size(node) <= SMALL:
            expressions.setdefault(ast.dump(node), node)
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            targets.setdefault(ast.dump(node).replace("Store()", "Load()"), node)
        if (
            isinstance(node, ast.stmt)
            and not isinstance(node, COMPOUND + WITHOUT_USE)
            and size(node) <= 40
        ):
            statements.setdefault(ast.dump(node), node)
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Dict, ast.DictComp)):
            dictionaries += [t.id for t in node.targets if isinstance(t, ast.Name)]
    # A name that is only written here may be read as well; it comes last.
    for key, target in targets.items():
        if size(target) <= SMALL:
            expressions.setdefault(key, target)
    return Donors(
        tuple(conditions.values())[:20],
        tuple(expressions.values())[:60],
        tuple(statements.values())[:30],
        tuple(dict.fromkeys(dictionaries)),
    )


def size(node: ast.AST) -> int:
    """Return the number of nodes in a tree."""
    return sum(1 for _ in ast.walk(node))


def _conditions(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        return [node.test]
    return list(node.ifs) if isinstance(node, ast.comprehension) else []


def _lends(node: ast.expr, source: SourceFile) -> bool:
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    if isinstance(node, (ast.Starred, ast.Slice, ast.JoinedStr, ast.FormattedValue)):
        return False
    parent = source.places[node].parent
    return not isinstance(parent, (ast.JoinedStr, ast.FormattedValue))
