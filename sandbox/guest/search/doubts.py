"""Reasons to doubt a survivor that can be seen in its text."""

from __future__ import annotations

import ast
from typing import List, Set, Type

from sandbox.guest.search.candidates import Candidate
from sandbox.guest.search.scope import SeenLiterals

ORDINARY = {"0", "1", "-1", "2", "''", "True", "False", "None"}


def doubts_about(candidate: Candidate, literals: SeenLiterals) -> List[str]:
    """What speaks against a candidate although the tests pass."""
    try:
        new = ast.parse(candidate.source.render(candidate.edits))
    except (SyntaxError, ValueError):
        return []
    old = candidate.source.tree
    doubts: List[str] = []
    if len(_constant_conditions(new)) > len(_constant_conditions(old)):
        doubts.append("makes a condition constant")
    if _count(new, ast.Raise) < _count(old, ast.Raise):
        doubts.append("removes a raise")
    if _count(new, ast.Assert) < _count(old, ast.Assert):
        doubts.append("removes an assert")
    known = {repr(value) for value in [*literals.numbers, *literals.strings]}
    special = (_literals(new) - _literals(old)) & known - ORDINARY
    if special:
        doubts.append(f"uses a literal of the failing test: {min(special)[:40]}")
    return doubts


def _count(tree: ast.AST, kind: Type[ast.AST]) -> int:
    return sum(isinstance(node, kind) for node in ast.walk(tree))


def _literals(tree: ast.AST) -> Set[str]:
    return {repr(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def _constant_conditions(tree: ast.AST) -> List[ast.expr]:
    tests = [node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.IfExp, ast.While))]
    loops = [node.test for node in ast.walk(tree) if isinstance(node, ast.While)]
    endless = {test for test in loops if isinstance(test, ast.Constant)}
    return [test for test in tests if test not in endless and _is_constant(test)]


def _is_constant(test: ast.expr) -> bool:
    if not any(isinstance(node, (ast.Name, ast.Call)) for node in ast.walk(test)):
        return True
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return ast.dump(test.left) == ast.dump(test.comparators[0])
    if isinstance(test, ast.BoolOp):
        return any(isinstance(value, ast.Constant) for value in test.values)
    return False
