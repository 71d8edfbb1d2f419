"""Statements of a test module that ran during collection.

They create the objects that a failing test uses.
"""

from __future__ import annotations

import ast
import sys
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

from sandbox.guest.search.locate.failure_report import parse_file
from sandbox.guest.search.source.scope import FunctionNode

MOST_TESTS = 20
MOST_STATEMENTS = 40
STATEMENT_S = 0.5
ROUNDS = 4
"""Maximum number of steps from a name to the names its binding reads."""

Call = Callable[[], Any]


def collect_calls(items: Sequence[Any]) -> List[Call]:
    """Return calls that execute such statements again, one by one, and the tests' own decorators.

    Args:
        items: The failing tests. Each statement outside functions runs in a copy of its module's
            namespace.
    """
    wanted: Dict[int, Tuple[Any, Set[str]]] = {}
    for item in items[:MOST_TESTS]:
        function = getattr(item, "function", None)
        module = sys.modules.get(str(getattr(function, "__module__", "")))
        outermost = str(getattr(function, "__qualname__", "")).split(".")[0]
        if module is not None:
            wanted.setdefault(id(module), (module, set()))[1].add(outermost)
    calls: List[Call] = []
    for module, names in wanted.values():
        space = dict(vars(module))
        filename = str(getattr(module, "__file__", ""))
        statements = [s for s in _behind(_body(filename), names) if _runs_something(s)]
        calls += [_call(statement, filename, space) for statement in statements]
    return calls[:MOST_STATEMENTS]


def _call(statement: ast.stmt, filename: str, space: Dict[str, Any]) -> Call:
    return lambda: exec(
        compile(ast.Module([statement], []), filename, "exec", dont_inherit=True), space
    )


def _body(filename: str) -> Sequence[ast.stmt]:
    tree = parse_file(filename)
    return tree.body if tree is not None else ()


def _behind(body: Sequence[ast.stmt], names: Set[str]) -> List[ast.stmt]:
    """Return the statements that bind these names, and the bindings of what they read."""
    chosen: Dict[int, ast.stmt] = {}
    wanted, known = set(names), set(names)
    for _ in range(ROUNDS):
        more = [s for s in body if id(s) not in chosen and wanted & _bound(s)]
        chosen.update((id(s), s) for s in more)
        wanted = {n.id for s in more for n in ast.walk(s) if isinstance(n, ast.Name)} - known
        known |= wanted
    return [s for s in body if id(s) in chosen]


def _bound(statement: ast.stmt) -> Set[str]:
    if isinstance(statement, (*FunctionNode, ast.ClassDef)):
        return {statement.name}
    names = {
        n.id
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    return names if not isinstance(statement, (ast.Import, ast.ImportFrom)) else set()


def _runs_something(statement: ast.stmt) -> bool:
    """Return True if a statement runs a call, a decorator or a base class."""
    if isinstance(statement, FunctionNode):
        return bool(statement.decorator_list or statement.args.defaults)
    return isinstance(statement, ast.ClassDef) or any(
        isinstance(n, ast.Call) for n in ast.walk(statement)
    )
