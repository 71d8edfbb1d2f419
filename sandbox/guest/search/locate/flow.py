"""Control and data dependences of statements within a function."""

from __future__ import annotations

import ast
from typing import Any, Dict, Iterator, List, Sequence, Set, Tuple

ROUNDS = 3
"""Maximum number of bindings that are followed back."""


def find_controllers(statement: ast.stmt, function: ast.AST) -> Dict[int, float]:
    """Return the weighted lines of conditions that decide whether a statement runs.

    These are the conditions around it, and earlier ones in its blocks that may leave.
    """
    found: Dict[int, float] = {}
    share = 1.0
    for parent, block in reversed(list(_path_to(statement, function))):
        for head in _heads(parent):
            found.setdefault(head.lineno, share)
        for other in block:
            if other.lineno >= statement.lineno:
                break
            if isinstance(other, (ast.If, ast.Try)) and _leaves(other):
                for head in _heads(other):
                    found.setdefault(head.lineno, 0.6 * share)
        share *= 0.6
    return found


def find_bindings(
    statement: ast.stmt, function: ast.AST, methods: Sequence[ast.AST] = ()
) -> Dict[int, float]:
    """Return the weighted lines that bind the names a statement reads.

    Args:
        statement: Reads the names.
        function: Binds the names.
        methods: The methods of its class, which bind attributes of `self`.
    """
    lines = _bindings(function)
    found = {line: 0.6 for name in _reads(statement) for line in lines.get(name, ())}
    attributes = _own_attributes(statement, ast.Load) if methods else {}
    for method in methods if attributes else ():
        for name, stored in _own_attributes(method, (ast.Store, ast.Del)).items():
            if name in attributes:
                found.update((line, 0.6) for line in stored)
    return found


def _own_attributes(node: ast.AST, kind: Any) -> Dict[str, List[int]]:
    """Return lines that read or bind attributes of `self`, also by `self.table[key] = value`."""
    found: Dict[str, List[int]] = {}
    for inner in ast.walk(node):
        if not isinstance(getattr(inner, "ctx", None), kind):
            continue
        base: ast.AST = inner
        while isinstance(base, ast.Subscript):
            base = base.value
        if (
            isinstance(base, ast.Attribute)
            and isinstance(base.value, ast.Name)
            and base.value.id in ("self", "cls")
        ):
            found.setdefault(base.attr, []).append(inner.lineno)  # type: ignore[attr-defined]
    return found


def backward_slice(function: ast.AST, ends: Sequence[int]) -> List[int]:
    """Return the lines on which the values returned at these lines depend."""
    bindings = _bindings(function)
    statements = [n for n in ast.walk(function) if isinstance(n, ast.stmt) and n is not function]
    at: Dict[int, List[ast.stmt]] = {}
    for one in statements:
        at.setdefault(one.lineno, []).append(one)
    found: Set[int] = set()
    waiting = [(line, 0) for line in ends]
    while waiting:
        line, depth = waiting.pop()
        if line in found or depth > ROUNDS:
            continue
        found.add(line)
        for one in at.get(line, ()):
            waiting += [(n, depth + 1) for name in _reads(one) for n in bindings.get(name, ())]
            for parent, _ in _path_to(one, function):
                waiting += [(head.lineno, depth + 1) for head in _heads(parent)]
    return sorted(found)


def _path_to(statement: ast.stmt, function: ast.AST) -> Iterator[Tuple[ast.AST, List[ast.stmt]]]:
    """Yield the compound statements around a statement, outermost first, with the block of each."""
    here: ast.AST = function
    while True:
        step = next(
            (
                (child, block)
                for block in _blocks(here)
                for child in block
                if _holds(child, statement)
            ),
            None,
        )
        if step is None:
            return
        child, block = step
        yield here, block
        if child is statement:
            return
        here = child


def _holds(outer: ast.stmt, inner: ast.stmt) -> bool:
    return outer.lineno <= inner.lineno and (outer.end_lineno or 0) >= (inner.end_lineno or 0)


def _blocks(node: ast.AST) -> Iterator[List[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block
    for handler in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
        yield handler.body


def _heads(node: ast.AST) -> List[ast.expr]:
    """Return the expressions of a compound statement that decide the control flow."""
    heads = [getattr(node, field, None) for field in ("test", "iter", "subject")]
    return [head for head in heads if isinstance(head, ast.expr)]


def _leaves(node: ast.AST) -> bool:
    return any(
        isinstance(n, (ast.Return, ast.Raise, ast.Continue, ast.Break)) for n in ast.walk(node)
    )


def _bindings(function: ast.AST) -> Dict[str, List[int]]:
    found: Dict[str, List[int]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, []).append(node.lineno)
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(
            node.ctx, ast.Load
        ):
            base: ast.AST = node
            while isinstance(base, (ast.Attribute, ast.Subscript)):
                base = base.value
            if isinstance(base, ast.Name) and base.id not in ("self", "cls"):
                found.setdefault(base.id, []).append(node.lineno)
    return found


def _reads(statement: ast.stmt) -> List[str]:
    blocks = {id(inner) for block in _blocks(statement) for inner in block}
    found: List[str] = []
    waiting: List[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if id(node) in blocks or (isinstance(node, ast.ExceptHandler)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.append(node.id)
        waiting += list(ast.iter_child_nodes(node))
    return list(dict.fromkeys(found))
