"""ValueError: a wrong number of values to unpack, text that is no number, a value not found."""

from __future__ import annotations

import ast
import re
from typing import Iterator, List

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.render import TextEdit

COST = 0.5
CHANGES = (
    (
        "ValueError: too many values to unpack (expected 2)",
        2,
        "def f(d):\n    for k, v in d:\n        g(k, v)\n",
        "def f(d):\n    for k, v in d.items():\n        g(k, v)\n",
    ),
    (
        "ValueError: too many values to unpack (expected 2)",
        2,
        "def f(s):\n    a, b = s.split(':')\n    return a, b\n",
        "def f(s):\n    a, b = s.split(':', 1)\n    return a, b\n",
    ),
    (
        "ValueError: too many values to unpack (expected 2)",
        2,
        "def f(s):\n    a, b = g(s)\n    return a, b\n",
        "def f(s):\n    a, b, *_ = g(s)\n    return a, b\n",
    ),
    (
        "ValueError: not enough values to unpack (expected 3, got 2)",
        2,
        "def f(s):\n    a, b, c = g(s)\n    return a, b\n",
        "def f(s):\n    a, b = g(s)\n    return a, b\n",
    ),
    (
        "ValueError: invalid literal for int() with base 10: '1.5'",
        2,
        "def f(s):\n    return int(s)\n",
        "def f(s):\n    return int(float(s))\n",
    ),
    (
        "ValueError: invalid literal for int() with base 10: ''",
        2,
        "def f(s):\n    return int(s)\n",
        "def f(s):\n    return int(s or 0)\n",
    ),
    (
        "ValueError: substring not found",
        2,
        "def f(s):\n    return s.index('a')\n",
        "def f(s):\n    return s.find('a')\n",
    ),
    (
        "ValueError: list.remove(x): x not in list",
        2,
        "def f(a, x):\n    a.remove(x)\n",
        "def f(a, x):\n    if x in a:\n        a.remove(x)\n",
    ),
    (
        "ValueError: could not convert string to float: 'x'",
        2,
        "def f(s):\n    return float(s)\n",
        (
            "def f(s):\n    try:\n        return float(s)\n    except ValueError:\n"
            "        return None\n"
        ),
    ),
)
UNTOUCHED = (
    ("KeyError: 'x'", 2, "def f(s):\n    a, b = s\n    return a\n"),
    ("ValueError: the rate is negative", 2, "def f(s):\n    a, b = s\n    return a\n"),
)


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair what the message of a ValueError or TypeError names, in the two innermost frames."""
    message = view.failure.message
    if not view.failure.is_a("ValueError", "TypeError"):
        return
    for depth, spot in enumerate(view.spots[:2]):
        changes: Iterator[GuidedProposal] = iter(())
        if "unpack" in message:
            changes = _unpacking(spot, too_many="too many" in message)
        elif re.search(
            r"invalid literal for|could not convert string|Invalid isoformat|does not match format",
            message,
        ):
            changes = _numbers(spot)
        elif re.search(
            r"substring not found|subsection not found|not in (?:list|tuple|deque)|is not in",
            message,
        ):
            changes = _not_found(spot)
        for change in changes:
            yield change._replace(cost=change.cost + 0.4 * depth)


def _unpacking(spot: Spot, *, too_many: bool) -> Iterator[GuidedProposal]:
    for target in spot.find(ast.Tuple, lambda n: isinstance(n.ctx, ast.Store))[:2]:
        value = _unpacked_value(target, spot)
        end = spot.source.span(target.elts[-1])[1]
        if too_many:
            yield spot.edit(COST, TextEdit(end, end, ", *_"))
            yield spot.edit(COST + 0.05, TextEdit(end, end, ", _"))
            start = spot.source.span(target.elts[0])[0]
            yield spot.edit(COST + 0.2, TextEdit(start, start, "_, "))
        elif len(target.elts) > 1:
            yield spot.edit(COST, TextEdit(spot.source.span(target.elts[-2])[1], end, ""))
            yield spot.edit(
                COST + 0.1,
                TextEdit(
                    spot.source.span(target.elts[0])[0], spot.source.span(target.elts[1])[0], ""
                ),
            )
            yield spot.insert(COST + 0.2, spot.source.span(target.elts[-1])[0], "*")
        if value is not None:
            yield from _other_value(spot, value, len(target.elts), too_many=too_many)


def _unpacked_value(target: ast.AST, spot: Spot) -> ast.expr | None:
    parent = spot.source.places[target].parent
    while isinstance(parent, ast.Tuple):
        parent = spot.source.places[parent].parent
    found = getattr(parent, "iter", None) or getattr(parent, "value", None)
    return found if isinstance(found, ast.expr) else None


def _other_value(
    spot: Spot, value: ast.expr, count: int, *, too_many: bool
) -> Iterator[GuidedProposal]:
    text, part = spot.text(value), spot.source.part(value, 16)
    loops = spot.source.places[value].field == "iter"
    # Iterating over a dictionary yields keys only.
    if loops and count == 2:
        yield spot.replace(COST - 0.15, value, f"{part}.items()")
        yield spot.replace(COST, value, f"enumerate({text})")
        yield spot.replace(COST + 0.2, value, f"zip(*{part})")
    if isinstance(value, ast.Call) and getattr(value.func, "attr", "") in ("split", "rsplit"):
        at = spot.source.span(value)[1] - 1
        if len(value.args) == 1:
            yield spot.edit(COST - 0.15, TextEdit(at, at, f", {count - 1}"))
            base = spot.text(value.func)[: -len("split")]
            other = f"{base}rsplit({spot.text(value.args[0])}, {count - 1})"
            if getattr(value.func, "attr", "") == "split":
                yield spot.replace(COST - 0.05, value, other)
        elif not value.args:
            yield spot.edit(COST - 0.15, TextEdit(at, at, f"None, {count - 1}"))
        if len(value.args) >= 1 and count == 2 and isinstance(value.func, ast.Attribute):
            base, separator = spot.text(value.func.value), spot.text(value.args[0])
            yield spot.replace(COST + 0.1, value, f"{base}.partition({separator})[::2]")
    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) > count and too_many:
        span = (spot.source.span(value.elts[-2])[1], spot.source.span(value.elts[-1])[1])
        yield spot.edit(COST, TextEdit(*span, ""))
    if not loops:
        if too_many:
            yield spot.replace(COST + 0.1, value, f"{part}[:{count}]")
        yield spot.replace(COST + 0.3, value, f"[{text}]" if count == 1 else f"({text}, None)")


def _numbers(spot: Spot) -> Iterator[GuidedProposal]:
    for call in spot.find(ast.Call)[:3]:
        name = getattr(call.func, "id", "")
        if not call.args or isinstance(call.args[0], ast.Starred):
            continue
        argument = call.args[0]
        text, part = spot.text(argument), spot.source.part(argument, 16)
        if name == "int":
            yield spot.replace(COST - 0.1, argument, f"float({text})")
            if len(call.args) == 1:
                at = spot.source.span(argument)[1]
                yield from (
                    spot.edit(COST + 0.2, TextEdit(at, at, f", {base}"))
                    for base in ("16", "0", "2", "8")
                )
        if name in ("int", "float"):
            yield spot.replace(COST - 0.05, argument, f"{part} or 0")
            for method in ("strip()", "replace(',', '')", "replace(',', '.')", "replace(' ', '')"):
                yield spot.replace(COST + 0.05, argument, f"{part}.{method}")
            yield spot.replace(COST + 0.4, call, text)
            yield spot.replace(COST + 0.3, call, f"{spot.text(call)} if {part}.isdigit() else None")
    yield from wrap_in_try(spot, "ValueError", COST + 0.2)


def wrap_in_try(spot: Spot, kind: str, cost: float) -> Iterator[GuidedProposal]:
    """Enclose the statement in `try`, with an alternative action in the handler."""
    statement = spot.statement
    if (
        statement is None
        or spot.function is None
        or not isinstance(statement, (ast.Return, ast.Assign, ast.Expr))
    ):
        return
    code = spot.scope.dedented(statement)
    if not code:
        return
    body = "\n".join("    " + line if line else "" for line in code.split("\n"))
    for rank, other in enumerate(_otherwise(statement, spot)):
        text = f"try:\n{body}\nexcept {kind}:\n    {other}"
        yield from spot.take(spot.scope.restate(cost + 0.06 * rank, statement, text))


def _otherwise(statement: ast.stmt, spot: Spot) -> List[str]:
    if isinstance(statement, ast.Assign) and isinstance(
        statement.targets[0], (ast.Name, ast.Attribute, ast.Subscript)
    ):
        target = spot.text(statement.targets[0])
        return [f"{target} = {value}" for value in ("None", "0", "''", "[]")] + [
            "return None",
            "continue",
        ]
    if isinstance(statement, ast.Return):
        parameters = (
            [a.arg for a in ast.walk(spot.function) if isinstance(a, ast.arg)]
            if spot.function
            else []
        )
        own = [f"return {p}" for p in parameters if p not in ("self", "cls")][:2]
        return [
            "return None",
            "return False",
            *own,
            "return 0",
            "return ''",
            "return []",
            "return True",
        ]
    return ["pass", "return None", "continue"]


def _not_found(spot: Spot) -> Iterator[GuidedProposal]:
    for call in spot.find(ast.Call)[:2]:
        if not isinstance(call.func, ast.Attribute) or not call.args:
            continue
        value, item = spot.text(call.func.value), spot.text(call.args[0])
        swaps = {"index": "find", "rindex": "rfind"}
        if call.func.attr in swaps:
            yield spot.edit(
                COST - 0.1, TextEdit(*spot.attribute_span(call.func), swaps[call.func.attr])
            )
            for rank, other in enumerate(("-1", "None", f"len({value})", "0")):
                text = f"{spot.text(call)} if {item} in {value} else {other}"
                yield spot.replace(COST + 0.05 * rank, call, text)
        if (
            call.func.attr == "remove"
            and isinstance(spot.statement, ast.Expr)
            and "\n" not in spot.text(call)
        ):
            code = f"if {item} in {value}:\n    {spot.text(spot.statement)}"
            yield from spot.take(spot.scope.restate(COST - 0.1, spot.statement, code))
    yield from wrap_in_try(spot, "ValueError", COST + 0.2)
