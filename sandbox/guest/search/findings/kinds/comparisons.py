"""Comparisons that linters reject: with None, with booleans, of types, `is` with a literal."""

from __future__ import annotations

import ast
from typing import Iterator

from sandbox.guest.search.findings.model import FixDraft
from sandbox.guest.search.findings.place import FindingPlace

CODES = frozenset({
    "E711", "E712", "E713", "E714", "E721", "F632", "C0121", "C0117", "C0123", "C0113", "R0123",
    "comparison-overlap", "reportUnnecessaryComparison", "W0177", "PLW0177", "SIM201", "SIM202",
})  # fmt: skip
CHANGES = (
    ("if a == None:\n    b()\n", (1, 9, "E711", "to `None`"), "if a is None:\n    b()\n"),
    ("x = a != None\n", (1, 10, "E711", ""), "x = a is not None\n"),
    ("if a == True:\n    b()\n", (1, 9, "E712", ""), "if a:\n    b()\n"),
    ("if a == True:\n    b()\n", (1, 9, "E712", ""), "if a is True:\n    b()\n"),
    ("if a == False:\n    b()\n", (1, 9, "E712", ""), "if not a:\n    b()\n"),
    ("x = not a in b\n", (1, 5, "E713", ""), "x = a not in b\n"),
    ("x = not a is b\n", (1, 5, "E714", ""), "x = a is not b\n"),
    ("if type(a) == int:\n    b()\n", (1, 4, "E721", ""), "if isinstance(a, int):\n    b()\n"),
    ("if type(a) == type(b):\n    b()\n", (1, 4, "E721", ""), "if type(a) is type(b):\n    b()\n"),
    ("x = a is 'b'\n", (1, 5, "F632", ""), "x = a == 'b'\n"),
    ("x = a is not 1\n", (1, 5, "R0123", ""), "x = a != 1\n"),
)  # fmt: skip
UNTOUCHED = (("x = a == b\n", (1, 5, "E711", "")), ("x = 1\n", (1, 1, "E712", "")))


def propose(place: FindingPlace) -> Iterator[FixDraft]:
    """Use the recommended operator."""
    for node in place.here(ast.Compare, ast.UnaryOp):
        if (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.Not)
            and isinstance(node.operand, ast.Compare)
        ):
            yield from _negate(place, node, node.operand)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from _plain(place, node)


def _negate(place: FindingPlace, node: ast.UnaryOp, inner: ast.Compare) -> Iterator[FixDraft]:
    words = {ast.In: "not in", ast.Is: "is not", ast.Eq: "!=", ast.NotEq: "=="}
    word = words.get(type(inner.ops[0])) if len(inner.ops) == 1 else None
    if word is not None:
        text = f"{place.source.text(inner.left)} {word} {place.source.text(inner.comparators[0])}"
        yield place.replace(0.3, node, text)


def _plain(place: FindingPlace, node: ast.Compare) -> Iterator[FixDraft]:
    op, left, right = node.ops[0], node.left, node.comparators[0]
    one, other = place.source.text(left), place.source.text(right)
    equal = isinstance(op, (ast.Eq, ast.Is))
    if isinstance(op, (ast.Eq, ast.NotEq)):
        for value, text in ((right, one), (left, other)):
            if not isinstance(value, ast.Constant):
                continue
            if value.value is None:
                yield place.replace(
                    0.2, node, f"{text} is None" if equal else f"{text} is not None"
                )
            elif isinstance(value.value, bool):
                positive = value.value is equal
                yield place.replace(0.3, node, text if positive else f"not {text}")
                yield place.replace(
                    0.5,
                    node,
                    f"{text} is {value.value}" if equal else f"{text} is not {value.value}",
                )
        yield from _types(place, node, equal=equal)
    elif isinstance(op, (ast.Is, ast.IsNot)) and (_is_literal(left) or _is_literal(right)):
        yield place.replace(0.2, node, f"{one} {'==' if equal else '!='} {other}")


def _types(place: FindingPlace, node: ast.Compare, *, equal: bool) -> Iterator[FixDraft]:
    left, right = node.left, node.comparators[0]
    for call, kind in ((left, right), (right, left)):
        if not (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "type"
        ):
            continue
        if len(call.args) == 1 and isinstance(kind, (ast.Name, ast.Attribute)):
            text = f"isinstance({place.source.text(call.args[0])}, {place.source.text(kind)})"
            yield place.replace(0.4, node, text if equal else f"not {text}")
        word = "is" if equal else "is not"
        yield place.replace(
            0.6, node, f"{place.source.text(left)} {word} {place.source.text(right)}"
        )
        return


def _is_literal(node: ast.AST) -> bool:
    return (
        isinstance(node, (ast.Constant, ast.Tuple, ast.List, ast.Dict))
        and getattr(node, "value", 0) is not None
    )
