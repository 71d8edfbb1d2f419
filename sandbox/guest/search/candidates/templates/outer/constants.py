"""A wrong module-level statement: swapped values, the value of another name, a surplus line."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional

from sandbox.guest.search.source.outer_scope import OuterScope
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits
from sandbox.guest.search.source.texts import quoted

COST = 1.6
CHEAPEST = COST - 0.6
CHANGES = (
    ("LOW = 1\nHIGH = 2\n", "LOW = 2\nHIGH = 1\n"),
    ("A = 1\nB = A + 1\nA = 2\n", "A = 1\nB = A + 1\n"),
    ("A = 1\nB = 2\n", "B = 2\nA = 1\n"),
    ("A = 1\nB = 2\nC = B\n", "A = 1\nB = 2\nC = A\n"),
    ("A = 60 * 24\n", "A = 60 * 60 * 24\n"),
    ("A = (1, 2)\n", "A = frozenset((1, 2))\n"),
    ("A = B = []\n", "A = []\nB = []\n"),
    ("A = 50\n", "A = 500\n"),
    ("A = 1024\n", "A = 1000\n"),
    ("A = 'a'\n", "A = 'seen'\n"),
    ("A = {'k': 1}\n", "A = {'k': 42}\n"),
)
MAX_SEEN = 14
"""Maximum strings of the failing tests to try for one constant."""
UNTOUCHED = ("def f(a):\n    b = 1\n    return a\n", "import os\n")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Swap, delete or reorder simple statements; assign the value of another name."""
    if not isinstance(scope, OuterScope):
        return
    if isinstance(node, ast.Constant) and scope.is_value(node):
        yield from _other_constants(node, scope)
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        yield from _values(node, node.value, scope)
    if isinstance(node, (ast.Assign, ast.AugAssign)) or (
        isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
    ):
        block, index = scope.block(node)
        if len(block) > 1:
            yield scope.delete(COST + 0.9, node)
        following = block[index + 1] if index + 1 < len(block) else None
        if isinstance(
            following, (ast.Assign, ast.AugAssign, ast.Expr, ast.FunctionDef, ast.ClassDef)
        ):
            yield _exchange(node, following, scope)


def _other_constants(node: ast.Constant, scope: OuterScope) -> Iterator[Optional[ProposedEdits]]:
    """Replace a constant by a literal of the failing tests, a power of ten, or another unit."""
    value = node.value
    if isinstance(value, str):
        for rank, text in enumerate(dict.fromkeys(scope.literals.strings)):
            if rank < MAX_SEEN and (len(text) <= 2 * len(value) + 8 or not value):
                yield scope.replace(COST - 0.5 + 0.06 * rank, node, quoted(text, scope.text(node)))
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return
    for rank, number in enumerate(dict.fromkeys(scope.literals.numbers)):
        if rank < MAX_SEEN and isinstance(number, type(value)):
            yield scope.replace(COST - 0.6 + 0.06 * rank, node, repr(number))
    if isinstance(value, int) and value > 1:
        digits = str(value)
        swapped = {
            int(digits[:i] + digits[i + 1] + digits[i] + digits[i + 2 :])
            for i in range(len(digits) - 1)
        }
        # Confused units: tens and thousands, seconds, minutes, hours and days.
        others = [
            value * 10,
            value // 10,
            value * 60,
            value * 24,
            value * 1000,
            value // 60,
            value // 1000,
        ]
        for rank, other in enumerate(dict.fromkeys([*others, *sorted(swapped), *_binary(value)])):
            if other not in (0, value):
                yield scope.replace(COST - 0.2 + 0.06 * rank, node, repr(other))


def _binary(value: int) -> List[int]:
    """Return decimal for binary powers and vice versa: 1000 for 1024, 1024 for 1000."""
    powers = range(1, 5)
    found = [1024**p for p in powers if value == 1000**p] + [
        1000**p for p in powers if value == 1024**p
    ]
    return [*found, value - 1] if value & (value - 1) == 0 else found


def _values(
    node: ast.Assign | ast.AnnAssign, value: ast.expr, scope: OuterScope
) -> Iterator[Optional[ProposedEdits]]:
    block, index = scope.block(node)
    for following in block[index + 1 : index + 4]:
        if isinstance(following, (ast.Assign, ast.AnnAssign)) and following.value is not None:
            yield scope.swap(COST, value, following.value)
    own = scope.names.index(_name(node)) if _name(node) in scope.names else 0
    if isinstance(value, (ast.Name, ast.Constant, ast.Attribute)):
        for name in scope.names[max(0, own - 6) : own]:
            yield scope.replace(COST + 0.6, value, name)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        for factor in ("60", "24", "7", "1000", "1024", "2"):
            yield scope.replace(COST + 0.4, value, f"{factor} * {scope.text(value)}")
            yield scope.replace(COST + 0.5, value, f"{scope.text(value)} * {factor}")
    if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
        for kind in ("frozenset", "tuple", "list", "set"):
            text = scope.text(value)
            yield scope.replace(
                COST + 0.8, value, f"{kind}({text if text[:1] in '([{' else f'({text})'})"
            )
    if (
        isinstance(node, ast.Assign)
        and len(node.targets) == 2
        and not isinstance(value, ast.Constant)
    ):
        code = "\n".join(f"{scope.text(target)} = {scope.text(value)}" for target in node.targets)
        yield scope.restate(COST - 0.3, node, code)


def _name(node: ast.Assign | ast.AnnAssign) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return target.id if isinstance(target, ast.Name) else ""


def _exchange(node: ast.stmt, following: ast.stmt, scope: CodeScope) -> Optional[ProposedEdits]:
    one, two = scope.source.whole_lines(node), scope.source.whole_lines(following)
    data = scope.source.data
    if one is None or two is None or not data[one[0] : two[1]].endswith(b"\n"):
        return None
    text = (data[two[0] : two[1]] + data[one[1] : two[0]] + data[one[0] : one[1]]).decode("utf-8")
    return ProposedEdits(COST + 0.7, (TextEdit(one[0], two[1], text),))
