"""Reasons to doubt a survivor that can be seen in its text."""

from __future__ import annotations

import ast
from typing import Iterator, List, Sequence, Set, Type

from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.source.scope import SeenLiterals

ORDINARY = {"0", "1", "-1", "2", "''", "True", "False", "None", "0.0", "1.0"}
WIDE = {"Exception", "BaseException"}
LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
ASKED = "what the failing tests ask for"
"""How the description of a candidate ends that undoes a change which came with its tests."""
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def doubts_about(candidate: Candidate, literals: SeenLiterals) -> List[str]:
    """What speaks against a candidate although the tests pass."""
    doubts: List[str] = []
    if candidate.undoes:
        if candidate.said.endswith(ASKED):
            doubts.append(f"undoes {ASKED}")
        elif not candidate.template.startswith("undo_part"):
            doubts.append("undoes what the commit changed")
    for source, edits in candidate.changes:
        try:
            new = ast.parse(source.render(edits))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if source.tree.body:
            doubts += doubts_between(source.tree, new, literals)
    return list(dict.fromkeys(doubts))


def doubts_between(old: ast.AST, new: ast.AST, literals: SeenLiterals) -> List[str]:
    """What speaks against having made one tree of another."""
    grown = (
        ("makes a condition constant", _constant_conditions),
        ("empties a body", _empty_bodies),
        ("swallows exceptions", _swallowing),
        ("catches what was raised", _quiet_handlers),
        ("leaves early with nothing worked out", _empty_handed),
        ("asks whether an attribute is there", _attribute_questions),
        ("makes code unreachable", _unreachable),
    )
    doubts = [said for said, count in grown if count(new) > count(old)]
    if _count(new, ast.Raise) < _count(old, ast.Raise):
        doubts.append("removes a raise")
    if _count(new, ast.Assert) < _count(old, ast.Assert):
        doubts.append("removes an assert")
    return doubts + _deletions(old, new, knows="removes a raise" in doubts) + _special_cases(old, new, literals)


def _deletions(old: ast.AST, new: ast.AST, *, knows: bool) -> List[str]:
    doubts: List[str] = []
    if _guards(new) < _guards(old) and not knows:
        doubts.append("deletes a guard")
    elif _statements(new) < _statements(old):
        doubts.append("deletes code")
    if _constant_returns(new) > _constant_returns(old) and _statements(new) <= _statements(old):
        doubts.append("returns a constant where something was worked out")
    return doubts


def _count(tree: ast.AST, kind: Type[ast.AST]) -> int:
    return sum(isinstance(node, kind) for node in ast.walk(tree))


def _statements(tree: ast.AST) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree))


def _blocks(tree: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


# --- special cases --------------------------------------------------------------------------------------


def _special_cases(old: ast.AST, new: ast.AST, literals: SeenLiterals) -> List[str]:
    """Values of the failing test that come into the code: in a comparison they make a special case."""
    known = {repr(value) for value in [*literals.numbers, *literals.strings]} - ORDINARY
    compared = _literals(_comparisons(new)) - _literals(_comparisons(old))
    anywhere = _literals([new]) - _literals([old])
    special = sorted((compared & known) - _literals([old]))
    if special:
        return [f"uses a literal of the failing test in a comparison: {special[0][:40]}"]
    borrowed = sorted(anywhere & known)
    return [f"takes a value from the failing test: {borrowed[0][:40]}"] if borrowed else []


def _comparisons(tree: ast.AST) -> List[ast.AST]:
    """Comparisons with `==`, `!=`, `in` and `is`: what a special case is made of."""
    equal = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
    return [n for n in ast.walk(tree) if isinstance(n, ast.Compare) and any(isinstance(o, equal) for o in n.ops)]


def _literals(trees: Sequence[ast.AST]) -> Set[str]:
    return {repr(n.value) for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Constant)}


# --- conditions -----------------------------------------------------------------------------------------


def _constant_conditions(tree: ast.AST) -> int:
    tests = [node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.IfExp, ast.While))]
    tests += [test for node in ast.walk(tree) if isinstance(node, ast.comprehension) for test in node.ifs]
    loops = [node.test for node in ast.walk(tree) if isinstance(node, ast.While)]
    endless = {test for test in loops if isinstance(test, ast.Constant) and test.value}
    return sum(test not in endless and _is_constant(test) for test in tests)


def _is_constant(test: ast.expr) -> bool:
    if not any(isinstance(node, (ast.Name, ast.Call)) for node in ast.walk(test)):
        return True
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return ast.dump(test.left) == ast.dump(test.comparators[0])
    if isinstance(test, ast.UnaryOp):
        return _is_constant(test.operand)
    if isinstance(test, ast.BoolOp):
        return any(_is_constant(value) for value in test.values) or _contradicts(test)
    return False


def _contradicts(test: ast.BoolOp) -> bool:
    """`a and not a`, `a or not a`, or the same twice."""
    plain = [ast.dump(value) for value in test.values]
    negated = [ast.dump(v.operand) for v in test.values if isinstance(v, ast.UnaryOp) and isinstance(v.op, ast.Not)]
    return any(text in plain for text in negated)


# --- bodies ---------------------------------------------------------------------------------------------


def _empty_bodies(tree: ast.AST) -> int:
    """Functions that do nothing but give a constant."""
    return sum(isinstance(node, Function) and _does_nothing(_meat(node.body)) for node in ast.walk(tree))


def _meat(body: Sequence[ast.stmt]) -> List[ast.stmt]:
    """Statements that are no docstring and no `pass`."""
    return [s for s in body if not isinstance(s, ast.Pass) and not _is_text(s)]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _does_nothing(body: Sequence[ast.stmt]) -> bool:
    if not body:
        return True
    return isinstance(body[0], ast.Return) and (body[0].value is None or isinstance(body[0].value, ast.Constant))


def _swallowing(tree: ast.AST) -> int:
    """Handlers that take nearly everything, or do nothing with what they take."""
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    return sum(int(_is_wide(h)) + int(_does_nothing(_meat(h.body))) for h in handlers)


def _is_wide(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in WIDE) for kind in kinds)


def _quiet_handlers(tree: ast.AST) -> int:
    """Handlers that go on without raising anything."""
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    return sum(not any(isinstance(node, ast.Raise) for node in ast.walk(handler)) for handler in handlers)


def _empty_handed(tree: ast.AST) -> int:
    """Conditions whose whole body is to go on elsewhere, or to give a constant or an empty container."""
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.If) and len(node.body) == 1]
    return sum(isinstance(body[0], (ast.Continue, ast.Break)) or _gives_nothing(body[0]) for body in bodies)


def _gives_nothing(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Return):
        return False
    value = statement.value
    parts = [*getattr(value, "elts", ()), *getattr(value, "keys", ())]
    return value is None or (isinstance(value, (ast.Constant, ast.List, ast.Tuple, ast.Dict)) and not parts)


def _attribute_questions(tree: ast.AST) -> int:
    """`hasattr(a, "b")`, `getattr(a, "b", c)`."""
    asking = {("hasattr", 2), ("getattr", 3)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sum(isinstance(c.func, ast.Name) and (c.func.id, len(c.args)) in asking for c in calls)


def _unreachable(tree: ast.AST) -> int:
    """Statements behind one that always leaves."""
    found = 0
    for block in _blocks(tree):
        for place, statement in enumerate(block):
            if isinstance(statement, LEAVING):
                found += len(block) - place - 1
                break
    return found


def _guards(tree: ast.AST) -> int:
    """Conditions whose body leaves at once."""
    return sum(isinstance(n, ast.If) and isinstance(n.body[-1], LEAVING) for n in ast.walk(tree))


def _constant_returns(tree: ast.AST) -> int:
    return sum(isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) for node in ast.walk(tree))
