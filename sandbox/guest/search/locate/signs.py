"""Small measures on functions, tests and nodes, from 0 to 1."""

from __future__ import annotations

import ast
from typing import Any, Mapping, Sequence, Set, Tuple

from sandbox.guest.search.locate.code import CodeFile
from sandbox.guest.search.locate.values import Clues, literal_score, split_words
from sandbox.guest.search.source.functions import Unit


def touches(changed: Mapping[str, Set[int]], unit: Unit) -> bool:
    """Return True if a function has changed lines."""
    return any(
        unit.first_line <= line <= unit.last_line for line in changed.get(unit.source.path, ())
    )


def call_score(unit: Unit, names: Set[str]) -> float:
    """Return 1.0 if a function's name is among these names.

    A method is also found by its class: 0.8 for `__init__` and the like, else 0.35.
    """
    if unit.names[-1] in names:
        return 1.0
    if len(unit.names) > 1 and unit.names[-2] in names:
        return 0.8 if unit.names[-1] in ("__init__", "__new__", "__call__") else 0.35
    return 0.0


def likeness(unit: Unit, tests: Sequence[str]) -> float:
    """Return the share of a function's name that occurs in a failing test's name."""
    own = [*split_words(unit.names[-1])]
    if not own:
        return 0.0
    best = 0.0
    for test in tests:
        theirs = {*split_words(test.partition("::")[2].partition("[")[0])} - {"test"}
        best = max(best, sum(word in theirs for word in own) / len(own))
    return best


def file_likeness(unit: Unit, tests: Sequence[str]) -> float:
    """Return 1.0 if a failing test's file is named like the function's file."""
    own = {*split_words(unit.source.path.rpartition("/")[2][:-3])}
    return float(
        any(
            own & ({*split_words(t.partition("::")[0].rpartition("/")[2])} - {"test", "tests"})
            for t in tests
        )
    )


def all_lines(file: CodeFile) -> Sequence[int]:
    """Return all line numbers of a file."""
    return range(1, file.source.data.count(b"\n") + 2)


def clue_score(nodes: Sequence[ast.AST], clues: Clues) -> float:
    """Return the value of the strongest clue among literals."""
    return max(
        (literal_score(n.value, clues) for n in nodes if isinstance(n, ast.Constant)), default=0.0
    )


def constant(node: ast.AST) -> Tuple[type, Any]:
    """Return the type and value of a literal."""
    return (type(node.value), node.value) if isinstance(node, ast.Constant) else (ast.AST, None)


def node_name(node: ast.AST) -> Any:
    """Return the name, attribute, keyword or text of a node."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, (ast.Attribute,)):
        return node.attr
    if isinstance(node, (ast.arg, ast.keyword)):
        return node.arg
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
