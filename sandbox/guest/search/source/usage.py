"""Guess types from the usage of names; less reliable than annotations."""

from __future__ import annotations

import ast
from typing import Dict, Iterator, Optional, Set, Tuple

from sandbox.guest.search.source.kinds import ValueKind, kind

NUMBERS = ("int", "float")
SIZED = ("str", "bytes", "list", "tuple", "dict", "set", "deque", "range")
INDEXED = ("str", "bytes", "list", "tuple", "dict", "deque", "range")
SLICED = ("str", "bytes", "list", "tuple", "range")
METHODS: Dict[str, Tuple[str, ...]] = {
    "append": ("list", "deque"), "extend": ("list", "deque"), "sort": ("list",), "items": ("dict",),
    "setdefault": ("dict",), "startswith": ("str", "bytes"), "endswith": ("str", "bytes"),
    "strip": ("str", "bytes"), "split": ("str", "bytes"), "lower": ("str",), "upper": ("str",),
    "format": ("str",), "encode": ("str",),
}  # fmt: skip
COUNTED = (ast.Sub, ast.Add, ast.FloorDiv, ast.Mod, ast.Mult, ast.Pow)


def infer_usage(root: ast.AST) -> Dict[str, ValueKind]:
    """Return the types of names whose uses agree."""
    found: Dict[str, Set[str]] = {}
    for name, fitting in _evidence(root):
        found[name] = found[name] & set(fitting) if name in found else set(fitting)
    return {name: kind(*sorted(fitting), sure=False) for name, fitting in found.items() if fitting}


def _evidence(root: ast.AST) -> Iterator[Tuple[str, Tuple[str, ...]]]:
    for node in ast.walk(root):
        if isinstance(node, (ast.BinOp, ast.AugAssign)):
            yield from _arithmetic(node)
        elif isinstance(node, ast.Call):
            yield from _call(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            yield node.value.id, SLICED if isinstance(node.slice, ast.Slice) else INDEXED
        elif isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.iter, ast.Name):
            yield node.iter.id, SIZED
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from _comparison(node)


def _arithmetic(node: ast.BinOp | ast.AugAssign) -> Iterator[Tuple[str, Tuple[str, ...]]]:
    left, right = (
        (node.target, node.value) if isinstance(node, ast.AugAssign) else (node.left, node.right)
    )
    if isinstance(node.op, COUNTED) and not isinstance(node.op, ast.Mult):
        for one, other in ((left, right), (right, left)):
            name = _name(one)
            if name and _is_number(other):
                yield name, NUMBERS


def _comparison(node: ast.Compare) -> Iterator[Tuple[str, Tuple[str, ...]]]:
    name = _name(node.left)
    if (
        name
        and isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
        and _is_number(node.comparators[0])
    ):
        yield name, NUMBERS


def _call(node: ast.Call) -> Iterator[Tuple[str, Tuple[str, ...]]]:
    function = node.func
    if isinstance(function, ast.Attribute):
        name, fitting = _name(function.value), METHODS.get(function.attr)
        if name and fitting:
            yield name, fitting
    elif isinstance(function, ast.Name):
        names = [name for name in map(_name, node.args) if name]
        if function.id == "range":
            yield from ((name, ("int",)) for name in names)
        elif function.id in ("len", "sorted", "enumerate", "list") and len(node.args) == 1:
            yield from ((name, SIZED) for name in names)


def _name(node: ast.AST) -> Optional[str]:
    return node.id if isinstance(node, ast.Name) else None


def _is_number(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    )
