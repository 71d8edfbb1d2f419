"""Say a right function in other words: changes of its syntax tree that keep its behaviour."""

import ast
import copy
from collections.abc import Callable

from typing_extensions import override

from benchmarks.belief.functions import Function

_FLIPPED: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.Gt(),
    ast.Gt: ast.Lt(),
    ast.LtE: ast.GtE(),
    ast.GtE: ast.LtE(),
    ast.Eq: ast.Eq(),
    ast.NotEq: ast.NotEq(),
}
Rewrite = Callable[[Function], Function]


def rename_locals(function: Function) -> Function:
    """Give every local variable another name."""
    parameters = {one.arg for one in ast.walk(function) if isinstance(one, ast.arg)}
    shared = {
        name
        for one in ast.walk(function)
        if isinstance(one, ast.Global | ast.Nonlocal)
        for name in one.names
    }
    local = {
        one.id
        for one in ast.walk(function)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    names = local - parameters - shared
    for one in ast.walk(function):
        if isinstance(one, ast.Name) and one.id in names:
            one.id = f"{one.id}_value" if len(one.id) > 1 else f"{one.id}{one.id}"
    return function


class _Conditions(ast.NodeTransformer):
    """Turns comparisons around, and swaps the branches of an `if` with an `else`."""

    @override
    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        calls = any(isinstance(one, ast.Call) for one in ast.walk(node))
        if len(node.ops) != 1 or type(node.ops[0]) not in _FLIPPED or calls:
            return node
        flipped = _FLIPPED[type(node.ops[0])]
        return ast.Compare(left=node.comparators[0], ops=[flipped], comparators=[node.left])

    @override
    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if not node.orelse or isinstance(node.orelse[0], ast.If):
            return node
        negated = ast.UnaryOp(op=ast.Not(), operand=node.test)
        return ast.If(test=negated, body=node.orelse, orelse=node.body)


class _Statements(ast.NodeTransformer):
    """Names a result before it is returned, and writes out augmented assignments and loops."""

    @override
    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        if node.value is None or isinstance(node.value, ast.Constant | ast.Name):
            return node
        name = ast.Name(id="answer", ctx=ast.Store())
        given = ast.Assign(targets=[name], value=node.value, lineno=node.lineno)
        return [given, ast.Return(value=ast.Name(id="answer", ctx=ast.Load()))]

    @override
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        number = isinstance(node.value, ast.Constant) and isinstance(node.value.value, int | float)
        if not isinstance(node.target, ast.Name) or not number:
            return node
        old = ast.Name(id=node.target.id, ctx=ast.Load())
        value = ast.BinOp(left=old, op=node.op, right=node.value)
        return ast.Assign(targets=[node.target], value=value, lineno=node.lineno)

    @override
    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        pair = ast.Tuple(
            elts=[ast.Name(id="_place", ctx=ast.Store()), node.target], ctx=ast.Store()
        )
        counted = ast.Call(
            func=ast.Name(id="enumerate", ctx=ast.Load()), args=[node.iter], keywords=[]
        )
        return ast.For(
            target=pair, iter=counted, body=node.body, orelse=node.orelse, lineno=node.lineno
        )


def turn_conditions(function: Function) -> Function:
    """Turn comparisons and branches around."""
    return _visited(_Conditions(), function)


def write_out(function: Function) -> Function:
    """Write statements out at length."""
    taken = {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}
    if taken & {"answer", "_place", "enumerate"}:
        return function
    return _visited(_Statements(), function)


def collect_in_loop(function: Function) -> Function:
    """Return the items of a returned list comprehension by a loop."""
    last = function.body[-1]
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.ListComp):
        return function
    made = last.value
    if len(made.generators) != 1 or made.generators[0].is_async:
        return function
    part = made.generators[0]
    text = f"collected = []\nfor _x in _y:\n    collected.append({ast.unparse(made.elt)})\n"
    start, loop = ast.parse(text).body
    if not isinstance(loop, ast.For):
        return function
    loop.target, loop.iter = part.target, part.iter
    for test in reversed(part.ifs):
        loop.body = [ast.If(test=test, body=loop.body, orelse=[])]
    function.body[-1:] = [start, loop, *ast.parse("def f():\n    return collected").body[0].body]  # type: ignore[attr-defined]
    return function


def rewritten(function: Function, *rewrites: Rewrite) -> str | None:
    """Return the text of a function after rewriting it; None if nothing changed.

    Args:
        function: The function; it stays as it is.
        rewrites: Applied in their order.
    """
    new = copy.deepcopy(function)
    for rewrite in rewrites:
        new = rewrite(new)
    text = ast.unparse(ast.fix_missing_locations(new))
    return text if text != ast.unparse(function) else None


def _visited(visitor: ast.NodeTransformer, function: Function) -> Function:
    # The function itself is no part of what changes; only its body is.
    function.body = [
        one for statement in function.body for one in _listed(visitor.visit(statement))
    ]
    return function


def _listed(found: object) -> list[ast.stmt]:
    if isinstance(found, list):
        return found
    return [found] if isinstance(found, ast.stmt) else []
