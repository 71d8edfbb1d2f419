"""Detect suspicious properties of a plausible patch from its syntax tree."""

from __future__ import annotations

import ast
from typing import AbstractSet, Iterator, List, Sequence, Set, Tuple, Type

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.source.scope import SeenLiterals

# Literals too common to reveal that a patch copied them from the test.
ORDINARY = {"0", "1", "-1", "2", "''", "True", "False", "None", "0.0", "1.0"}
WIDE = {"Exception", "BaseException"}
EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
REQUIRED = "what the failing tests require"
"""Suffix of the description of a revert whose change came together with its tests."""
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def doubts_about(candidate: CandidatePatch, literals: SeenLiterals) -> List[str]:
    """Return reasons to distrust a candidate although the tests pass."""
    doubts: List[str] = []
    if candidate.is_revert:
        if candidate.summary.endswith(REQUIRED):
            doubts.append(f"reverts {REQUIRED}")
        elif not candidate.template.startswith("undo_part"):
            doubts.append("reverts what the commit changed")
    for source, edits in candidate.changes:
        try:
            new = ast.parse(source.render(edits))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        # A source without a syntax tree (such as a plain one) cannot be compared.
        if source.tree.body:
            doubts += doubts_between(source.tree, new, literals)
    return list(dict.fromkeys(doubts))


def doubts_between(old: ast.AST, new: ast.AST, literals: SeenLiterals) -> List[str]:
    """Return the doubts raised by the difference between two syntax trees."""
    # Each property counts against a patch only if the patch adds an instance of it.
    grown = (
        ("makes a condition constant", _constant_conditions),
        ("empties a body", _empty_bodies),
        ("swallows exceptions", _swallowing),
        ("catches an exception that was raised", _silent_handlers),
        ("tests for an attribute", _attribute_tests),
        ("makes code unreachable", _unreachable),
    )
    doubts = [doubt for doubt, count in grown if count(new) > count(old)]
    if _trivial_exits(new, _exits_of_added_loops(old, new)) > _trivial_exits(old):
        doubts.append("returns early without a result")
    if _count(new, ast.Raise) < _count(old, ast.Raise):
        doubts.append("removes a raise")
    if _count(new, ast.Assert) < _count(old, ast.Assert):
        doubts.append("removes an assert")
    return (
        doubts
        + _deletions(old, new, raise_removed="removes a raise" in doubts)
        + _special_cases(old, new, literals)
    )


def _deletions(old: ast.AST, new: ast.AST, *, raise_removed: bool) -> List[str]:
    doubts: List[str] = []
    # A removed `raise` is reported by itself; its guard usually goes with it.
    if _guards(new) < _guards(old) and not raise_removed:
        doubts.append("deletes a guard")
    elif _statements(new) < _statements(old):
        doubts.append("deletes code")
    if _constant_returns(new) > _constant_returns(old) and _statements(new) <= _statements(old):
        doubts.append("replaces a computed value by a constant")
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


# --- special cases ---


def _special_cases(old: ast.AST, new: ast.AST, literals: SeenLiterals) -> List[str]:
    """Report literals of the failing test that the patch introduces.

    Overfitting: a patch can pass by repeating the expected values of the test.
    A literal that is compared with is a special case; elsewhere it is a borrowed value.
    """
    known = {repr(value) for value in [*literals.numbers, *literals.strings]} - ORDINARY
    compared = _literals(_comparisons(new)) - _literals(_comparisons(old))
    anywhere = _literals([new]) - _literals([old])
    special = sorted((compared & known) - _literals([old]))
    if special:
        return [f"uses a literal of the failing test in a comparison: {special[0][:40]}"]
    borrowed = sorted(anywhere & known)
    return [f"takes a value from the failing test: {borrowed[0][:40]}"] if borrowed else []


def _comparisons(tree: ast.AST) -> List[ast.AST]:
    """Return comparisons with `==`, `!=`, `in` or `is`, the form of a special case."""
    equal = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
    return [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.Compare) and any(isinstance(o, equal) for o in n.ops)
    ]


def _literals(trees: Sequence[ast.AST]) -> Set[str]:
    return {repr(n.value) for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Constant)}


# --- conditions ---


def _constant_conditions(tree: ast.AST) -> int:
    tests = [
        node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.IfExp, ast.While))
    ]
    tests += [
        test for node in ast.walk(tree) if isinstance(node, ast.comprehension) for test in node.ifs
    ]
    # `while True` is an idiom, not a weakened condition.
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
    """Return True for `a and not a` and `a or not a`."""
    plain = [ast.dump(value) for value in test.values]
    negated = [
        ast.dump(v.operand)
        for v in test.values
        if isinstance(v, ast.UnaryOp) and isinstance(v.op, ast.Not)
    ]
    return any(text in plain for text in negated)


# --- bodies ---


def _empty_bodies(tree: ast.AST) -> int:
    """Count functions that do nothing but return a constant."""
    return sum(
        isinstance(node, Function) and _does_nothing(_effective_statements(node.body))
        for node in ast.walk(tree)
    )


def _effective_statements(body: Sequence[ast.stmt]) -> List[ast.stmt]:
    """Return the statements other than docstrings, constants and `pass`."""
    return [s for s in body if not isinstance(s, ast.Pass) and not _is_text(s)]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _does_nothing(body: Sequence[ast.stmt]) -> bool:
    if not body:
        return True
    return isinstance(body[0], ast.Return) and (
        body[0].value is None or isinstance(body[0].value, ast.Constant)
    )


def _swallowing(tree: ast.AST) -> int:
    """Count handlers that catch almost everything or ignore what they catch.

    A handler that does both counts twice.
    """
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    return sum(
        int(_is_wide(h)) + int(_does_nothing(_effective_statements(h.body))) for h in handlers
    )


def _is_wide(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in WIDE) for kind in kinds)


def _silent_handlers(tree: ast.AST) -> int:
    """Count handlers that raise nothing."""
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    return sum(
        not any(isinstance(node, ast.Raise) for node in ast.walk(handler)) for handler in handlers
    )


def _trivial_exits(tree: ast.AST, left_out: AbstractSet[int] = frozenset()) -> int:
    """Count conditions whose only statement skips the rest or returns a trivial value."""
    exits = [
        node.body[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and len(node.body) == 1 and id(node.body[0]) not in left_out
    ]
    return sum(
        isinstance(node, (ast.Continue, ast.Break)) or _returns_nothing(node) for node in exits
    )


def _exits_of_added_loops(old: ast.AST, new: ast.AST) -> Set[int]:
    """Return the ids of exits that skip no code that was there before.

    These are exits of a loop that the patch adds, with nothing of the old code inside. A `return`
    skips what follows, so its loop has to end the function.
    """
    before, after = _loops(old), _loops(new)
    if len(after) <= len(before):
        return set()  # a loop with another head is no new one
    known = {head for head, _ in before}
    kept = {ast.dump(node) for node in ast.walk(old) if _does_something(node)}
    ends = {id(node.body[-1]) for node in ast.walk(new) if isinstance(node, Function)}
    found: Set[int] = set()
    for head, loop in after:
        inside = list(ast.walk(loop))
        if head in known or any(ast.dump(node) in kept for node in inside if _does_something(node)):
            continue
        found |= {id(node) for node in inside if isinstance(node, (ast.Continue, ast.Break))}
        if id(loop) in ends:
            found |= {
                id(node) for node in inside if isinstance(node, ast.Return) and not node.value
            }
    return found


def _does_something(node: ast.AST) -> bool:
    if isinstance(node, ast.Return):
        return node.value is not None
    return isinstance(node, ast.stmt) and not isinstance(node, (ast.Pass, ast.Continue, ast.Break))


def _loops(tree: ast.AST) -> List[Tuple[str, ast.AST]]:
    """Return all loops with their heads."""
    found: List[Tuple[str, ast.AST]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            found.append((ast.dump(node.test), node))
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            found.append((ast.dump(node.target) + ast.dump(node.iter), node))
    return found


def _returns_nothing(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Return):
        return False
    value = statement.value
    parts = [*getattr(value, "elts", ()), *getattr(value, "keys", ())]
    return value is None or (
        isinstance(value, (ast.Constant, ast.List, ast.Tuple, ast.Dict)) and not parts
    )


def _attribute_tests(tree: ast.AST) -> int:
    """Count calls of the form `hasattr(a, "b")` and `getattr(a, "b", c)`."""
    asking = {("hasattr", 2), ("getattr", 3)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sum(isinstance(c.func, ast.Name) and (c.func.id, len(c.args)) in asking for c in calls)


def _unreachable(tree: ast.AST) -> int:
    """Count statements that follow an unconditional exit of their block."""
    found = 0
    for block in _blocks(tree):
        for place, statement in enumerate(block):
            if isinstance(statement, EXITS):
                found += len(block) - place - 1
                break
    return found


def _guards(tree: ast.AST) -> int:
    """Count conditions whose body ends with an exit."""
    return sum(isinstance(n, ast.If) and isinstance(n.body[-1], EXITS) for n in ast.walk(tree))


def _constant_returns(tree: ast.AST) -> int:
    return sum(
        isinstance(node, ast.Return) and isinstance(node.value, ast.Constant)
        for node in ast.walk(tree)
    )
