"""Canonical form of Python source: equal for rewritings that behave alike.

It compares changes that people refused with new ones. Different forms may still behave alike, so
equality blocks a change and inequality proves nothing. Comparisons count as those of plain values:
`a > b` is `b < a`.
"""

import ast
from collections.abc import Iterator

from typing_extensions import override

from sandbox.changes.syntax import parse

_FLIPPED = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_OPPOSITE = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
}
_SYMMETRIC = (ast.Eq, ast.NotEq)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def canonical_form(text: str) -> str | None:
    """Return a text that is equal for equivalent programs; None if the source cannot be parsed."""
    tree = parse(text)
    if tree is None:
        return None
    try:
        return ast.dump(_Canonical().visit(tree))
    except RecursionError:
        return None


class _Canonical(ast.NodeTransformer):
    """Rewrites expressions and statements to one of their equivalent forms."""

    @override
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, _simplify(block))
        return node

    @override
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Give the local variables names by their order."""
        self.generic_visit(node)
        return _rename(node)

    @override
    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Give the local variables names by their order."""
        self.generic_visit(node)
        return _rename(node)

    @override
    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Move `not` into a comparison, and remove it in pairs."""
        self.generic_visit(node)
        return _negate(node.operand) if isinstance(node.op, ast.Not) else node

    @override
    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Turn `a > b` into `b < a`, and sort the sides of `==`."""
        self.generic_visit(node)
        return _order(node)

    @override
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Put a number behind the other operand of `+` and `*`, and subtract instead of `+ -1`."""
        self.generic_visit(node)
        return _arrange(node)

    @override
    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Swap the branches of a negated condition."""
        self.generic_visit(node)
        return _positive(node)

    @override
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Turn `x += 1` into `x = x + 1`."""
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.Assign([node.target], _arrange(value))


def _simplify(block: list[ast.stmt]) -> list[ast.stmt]:
    """Return a block without docstring and `pass`, with its conditional returns joined."""
    kept = [one for one in block if not isinstance(one, ast.Pass) and not _is_text(one)]
    return _joined_returns(_inlined_returns(list(_flat(kept))))


def _flat(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements; an `else` after a branch that leaves follows it without `else`."""
    for one in block:
        if isinstance(one, ast.If) and one.orelse and _leaves(one.body):
            rest, one.orelse = one.orelse, []
            yield one
            yield from rest
        else:
            yield one


def _inlined_returns(block: list[ast.stmt]) -> list[ast.stmt]:
    """Turn `x = value; return x` into `return value`."""
    for place in range(len(block) - 1):
        first, second = block[place], block[place + 1]
        if (
            isinstance(first, ast.Assign)
            and isinstance(second, ast.Return)
            and isinstance(second.value, ast.Name)
            and len(first.targets) == 1
            and isinstance(first.targets[0], ast.Name)
            and first.targets[0].id == second.value.id
        ):
            return [*block[:place], ast.Return(first.value)]
    return block


def _joined_returns(block: list[ast.stmt]) -> list[ast.stmt]:
    """Turn `if c: return a` and `return b` into one conditional return, from the end."""
    while len(block) > 1:
        *before, test, last = block
        if not (isinstance(test, ast.If) and len(test.body) == 1 and not test.orelse):
            break
        taken = test.body[0]
        if not (isinstance(taken, ast.Return) and isinstance(last, ast.Return)):
            break
        none = ast.Constant(None)
        choice = ast.IfExp(test.test, taken.value or none, last.value or none)
        block = [*before, ast.Return(_positive(choice))]
    return block


def _positive(node: ast.IfExp) -> ast.expr:
    """Return one form for a choice and the choice of the opposite condition."""
    opposite = _negate(node.test)
    if ast.dump(opposite) < ast.dump(node.test):
        return ast.IfExp(opposite, node.orelse, node.body)
    return node


def _negate(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _order(
            ast.Compare(node.left, [_OPPOSITE[type(node.ops[0])]()], list(node.comparators))
        )
    return ast.UnaryOp(ast.Not(), node)


def _arrange(node: ast.BinOp) -> ast.BinOp:
    """Return one form for a sum or product with a number."""
    if isinstance(node.op, ast.Add) and (positive := _minus(node.right)) is not None:
        return ast.BinOp(node.left, ast.Sub(), positive)
    if isinstance(node.op, ast.Add | ast.Mult) and _is_number(node.left):
        return ast.BinOp(node.right, node.op, node.left)
    return node


def _order(node: ast.Compare) -> ast.Compare:
    if len(node.ops) != 1:
        return node
    left, operator, right = node.left, node.ops[0], node.comparators[0]
    flipped = _FLIPPED.get(type(operator))
    if flipped is not None:
        return ast.Compare(right, [flipped()], [left])
    if isinstance(operator, _SYMMETRIC) and ast.dump(right) < ast.dump(left):
        return ast.Compare(right, [operator], [left])
    return node


def _rename(function: _Function) -> _Function:
    """Name the local variables by the order in which they are assigned."""
    nodes = [node for one in function.body for node in ast.walk(one)]
    shared = {name for n in nodes if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    names = [n for n in nodes if isinstance(n, ast.Name)]
    local = [n.id for n in names if isinstance(n.ctx, ast.Store) and n.id not in shared]
    arguments = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    new = {old: f"_{n}" for n, old in enumerate(dict.fromkeys(local)) if old not in arguments}
    for name in names:
        name.id = new.get(name.id, name.id)
    return function


def _minus(node: ast.expr) -> ast.expr | None:
    """Return the number of `-number`."""
    is_minus = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    operand = node.operand if isinstance(node, ast.UnaryOp) and is_minus else None
    return operand if operand is not None and _is_number(operand) else None


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_text(node: ast.stmt) -> bool:
    """Return True for a docstring or another text without effect."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _leaves(block: list[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
