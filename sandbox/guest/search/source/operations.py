"""Result types of operators on built-in types, and comparison of syntax trees."""

from __future__ import annotations

import ast
from typing import Any, FrozenSet, Optional

from sandbox.guest.search.source import kinds
from sandbox.guest.search.source.kinds import NUMERIC, ValueKind, may_be

INTEGERS: FrozenSet[str] = frozenset(("int", "bool"))
UNREAD = ("ctx", "kind", "type_comment")
ARITHMETIC = (ast.Div, ast.Sub, ast.Add, ast.Mult, ast.FloorDiv, ast.Mod, ast.Pow)
BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
SEQUENCE_NAMES = ("str", "bytes", "list", "tuple", "bytearray", "deque")


def same(one: ast.AST, other: ast.AST) -> bool:
    """Return True if two expressions are equal and contain no call at the top."""
    return not isinstance(one, (ast.Call, ast.Await)) and alike(one, other)


def alike(one: Any, other: Any) -> bool:
    """Return True if two syntax trees are equal."""
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.AST):
        return all(
            alike(getattr(one, f, None), getattr(other, f, None))
            for f in one._fields
            if f not in UNREAD
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def has(base: Optional[ValueKind], attribute: str) -> bool:
    """Return True if a value may have an attribute."""
    if base is None or not base.names:
        return True
    known = base.names - {"NoneType"} or base.names
    return any(name not in kinds.MEMBERS or attribute in kinds.MEMBERS[name] for name in known)


def works(op: ast.operator, left: str, right: Optional[str]) -> str:
    """Return the result types of `left op right`, joined by `|`; empty if it fails.

    A right side of None stands for any type.
    """
    if isinstance(op, ARITHMETIC) and left in NUMERIC and (right is None or right in NUMERIC):
        if isinstance(op, ast.Div) or "float" in (left, right):
            return "float"
        return "int" if right is not None else "int|float"
    if isinstance(op, ast.Add):
        return left if left in SEQUENCE_NAMES and right in (None, left) else ""
    if isinstance(op, ast.Mult):
        return _repeated(left, right)
    if isinstance(op, BITS) and left in INTEGERS and (right is None or right in INTEGERS):
        return left
    if isinstance(op, (ast.Sub, ast.BitAnd, ast.BitOr, ast.BitXor)):
        return _set_operation(op, left, right)
    return "unknown" if isinstance(op, ast.MatMult) or left not in kinds.KNOWN else ""


def _repeated(left: str, right: Optional[str]) -> str:
    if left in SEQUENCE_NAMES and (right is None or right in INTEGERS):
        return left
    return (
        str(right or left)
        if left in INTEGERS and (right is None or right in SEQUENCE_NAMES)
        else ""
    )


def _set_operation(op: ast.operator, left: str, right: Optional[str]) -> str:
    if left in kinds.SETS and (right is None or right in kinds.SETS):
        return "frozenset" if left == "frozenset" else "set"
    if isinstance(op, ast.BitOr) and left in ("dict", "type", "NoneType"):
        return left if right in (None, left, "NoneType", "type") else ""
    return "" if left in kinds.KNOWN else "unknown"


def comparable(op: ast.cmpop, left: Optional[ValueKind], right: Optional[ValueKind]) -> bool:
    """Return True if a comparison is valid and its result is not constant."""
    if isinstance(op, (ast.In, ast.NotIn)):
        text = right is not None and bool(right.names) and right.names <= {"str"}
        return may_be(right, kinds.CONTAINERS) and (not text or may_be(left, frozenset(("str",))))
    if left is None or right is None or not left.names or not right.names:
        return True
    if isinstance(op, (ast.Is, ast.IsNot)):
        # A guard against None is useful even where an annotation excludes None.
        return right.names != {"NoneType"} or "NoneType" in left.names or not left.sure
    if isinstance(op, (ast.Eq, ast.NotEq)):
        return bool(_families(left) & _families(right))
    ordered = (_families(left) & _families(right)) - {
        "NoneType",
        "dict",
        "function",
        "generator",
        "iterator",
    }
    return bool(ordered)


def _families(one: ValueKind) -> FrozenSet[str]:
    sets = frozenset("set" if name in kinds.SETS else name for name in one.names)
    return frozenset("number" if name in NUMERIC else name for name in sets)
