"""What ran when the tests were collected: the statements of a test module that a failing test owes its objects to."""

from __future__ import annotations

import ast
import sys
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

from sandbox.guest.search.locate.said import tree_of
from sandbox.guest.search.source.scope import FunctionNode

MOST_TESTS = 20
MOST_STATEMENTS = 40
STATEMENT_S = 0.5
ROUNDS = 4
"""How far back names are followed."""

Call = Callable[[], Any]


def calls_behind(items: Sequence[Any]) -> List[Call]:
    """Executes once more, one by one, what makes the objects that these tests use, and the tests' own decorators.

    Args:
        items: The failing tests; each statement outside functions is run in a copy of its module's names.
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
    return lambda: exec(compile(ast.Module([statement], []), filename, "exec", dont_inherit=True), space)


def _body(filename: str) -> Sequence[ast.stmt]:
    tree = tree_of(filename)
    return tree.body if tree is not None else ()


def _behind(body: Sequence[ast.stmt], names: Set[str]) -> List[ast.stmt]:
    """The statements that bind these names, and those that bind what they read, in the order of the source."""
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
    names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return names if not isinstance(statement, (ast.Import, ast.ImportFrom)) else set()


def _runs_something(statement: ast.stmt) -> bool:
    """Whether anything but a definition happens: calls, decorators, bases."""
    if isinstance(statement, FunctionNode):
        return bool(statement.decorator_list or statement.args.defaults)
    return isinstance(statement, ast.ClassDef) or any(isinstance(n, ast.Call) for n in ast.walk(statement))
