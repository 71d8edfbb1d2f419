"""Small questions about functions, tests and nodes, each answered with a share from 0 to 1 or a plain value."""

from __future__ import annotations

import ast
from typing import Any, Mapping, Sequence, Set, Tuple

from sandbox.guest.search.locate.code import CodeFile
from sandbox.guest.search.locate.values import Clues, telling, words_of
from sandbox.guest.search.source.functions import Unit


def touches(changed: Mapping[str, Set[int]], unit: Unit) -> bool:
    """Whether a function has changed lines."""
    return any(unit.first_line <= line <= unit.last_line for line in changed.get(unit.source.path, ()))


def called_by(unit: Unit, names: Set[str]) -> float:
    """Whether a function is called by one of these names; a class's `__init__` by the class's."""
    if unit.names[-1] in names:
        return 1.0
    if len(unit.names) > 1 and unit.names[-2] in names:
        return 0.8 if unit.names[-1] in ("__init__", "__new__", "__call__") else 0.35
    return 0.0


def alike(unit: Unit, tests: Sequence[str]) -> float:
    """How much of a function's name stands in a failing test's."""
    own = [*words_of(unit.names[-1])]
    if not own:
        return 0.0
    best = 0.0
    for test in tests:
        theirs = {*words_of(test.partition("::")[2].partition("[")[0])} - {"test"}
        best = max(best, sum(word in theirs for word in own) / len(own))
    return best


def alike_file(unit: Unit, tests: Sequence[str]) -> float:
    """Whether a failing test's file is named like the function's."""
    own = {*words_of(unit.source.path.rpartition("/")[2][:-3])}
    return float(any(own & ({*words_of(t.partition("::")[0].rpartition("/")[2])} - {"test", "tests"}) for t in tests))


def lines_of(file: CodeFile) -> Sequence[int]:
    """All lines of a file."""
    return range(1, file.source.data.count(b"\n") + 2)


def clue(nodes: Sequence[ast.AST], clues: Clues) -> float:
    """The most telling literal among nodes."""
    return max((telling(n.value, clues) for n in nodes if isinstance(n, ast.Constant)), default=0.0)


def constant(node: ast.AST) -> Tuple[type, Any]:
    """Type and value of a literal; equal for no other node."""
    return (type(node.value), node.value) if isinstance(node, ast.Constant) else (ast.AST, None)


def name_of(node: ast.AST) -> Any:
    """The name, attribute, keyword or text that a node is."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, (ast.Attribute,)):
        return node.attr
    if isinstance(node, (ast.arg, ast.keyword)):
        return node.arg
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
