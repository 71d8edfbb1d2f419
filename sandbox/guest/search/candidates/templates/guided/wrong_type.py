"""TypeError of an operation: mixed types, unhashable keys, bytes for text, a missing `await`."""

from __future__ import annotations

import ast
import re
from typing import Iterator, List, Tuple

from sandbox.guest.search.candidates.edits.containers import (
    fix_collection_use,
    fix_index,
    make_hashable,
    make_mutable,
    plain_slice,
)
from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.outer_scope import with_import
from sandbox.guest.search.source.render import TextEdit

COST = 0.4
CHANGES = (
    (
        'TypeError: can only concatenate str (not "int") to str',
        2,
        "def f(a, n):\n    return a + n\n",
        "def f(a, n):\n    return a + str(n)\n",
    ),
    (
        "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
        2,
        "def f(a, n):\n    return a + n\n",
        "def f(a, n):\n    return a + int(n)\n",
    ),
    (
        "TypeError: unhashable type: 'list'",
        2,
        "def f(a, d):\n    return d[a]\n",
        "def f(a, d):\n    return d[tuple(a)]\n",
    ),
    (
        "TypeError: unhashable type: 'list'",
        2,
        "def f(a):\n    return set(a)\n",
        "def f(a):\n    return set(map(tuple, a))\n",
    ),
    (
        "TypeError: unhashable type: 'list'",
        5,
        (
            "def f(a):\n    s = set()\n    for x in a:\n        if x:\n            s.add(x)\n"
            "    return s\n"
        ),
        (
            "def f(a):\n    s = []\n    for x in a:\n        if x:\n            s.append(x)\n"
            "    return s\n"
        ),
    ),
    (
        "TypeError: a bytes-like object is required, not 'str'",
        2,
        "def f(a, s):\n    return a.split(s)\n",
        "def f(a, s):\n    return a.split(s.encode())\n",
    ),
    (
        "TypeError: sequence item 0: expected str instance, int found",
        2,
        "def f(a):\n    return ','.join(a)\n",
        "def f(a):\n    return ','.join(map(str, a))\n",
    ),
    (
        "TypeError: list indices must be integers or slices, not str",
        2,
        "def f(a, k):\n    return a[k]\n",
        "def f(a, k):\n    return a[int(k)]\n",
    ),
    (
        "TypeError: list indices must be integers or slices, not float",
        2,
        "def f(a):\n    return a[len(a) / 2]\n",
        "def f(a):\n    return a[len(a) // 2]\n",
    ),
    (
        "TypeError: 'coroutine' object is not iterable",
        2,
        "async def f(a):\n    return list(a.get())\n",
        "async def f(a):\n    return list(await a.get())\n",
    ),
    (
        "TypeError: object int can't be used in 'await' expression",
        2,
        "async def f(a):\n    return await a.get()\n",
        "async def f(a):\n    return a.get()\n",
    ),
    (
        "TypeError: 'type' object is not subscriptable",
        1,
        "def f(a: list[int]):\n    return a\n",
        "from __future__ import annotations\ndef f(a: list[int]):\n    return a\n",
    ),
    (
        "TypeError: '<' not supported between instances of 'str' and 'int'",
        2,
        "def f(a, b):\n    return a < b\n",
        "def f(a, b):\n    return int(a) < b\n",
    ),
    (
        "TypeError: can't compare offset-naive and offset-aware datetimes",
        2,
        "def f(a):\n    return a < datetime.now()\n",
        "from datetime import timezone\ndef f(a):\n    return a < datetime.now(timezone.utc)\n",
    ),
    (
        "TypeError: 'method' object is not iterable",
        2,
        "def f(a):\n    return [x for x in a.items]\n",
        "def f(a):\n    return [x for x in a.items()]\n",
    ),
    (
        "TypeError: 'int' object is not iterable",
        2,
        "def f(n):\n    return [x for x in n]\n",
        "def f(n):\n    return [x for x in range(n)]\n",
    ),
    (
        "TypeError: 'tuple' object does not support item assignment",
        3,
        "def f(a):\n    b = (1, 2)\n    b[0] = a\n",
        "def f(a):\n    b = [1, 2]\n    b[0] = a\n",
    ),
)
UNTOUCHED = (
    ("ValueError: no", 2, "def f(a):\n    return a + 1\n"),
    (
        "TypeError: g() missing 1 required positional argument: 'a'",
        2,
        "def f(a):\n    return g()\n",
    ),
)

CONVERSIONS = {
    "str": ("str({})", "{}.decode()", "repr({})"),
    "int": ("int({})", "len({})", "int(float({}))"),
    "float": ("float({})",),
    "list": ("list({})", "[{}]"),
    "tuple": ("tuple({})", "({},)"),
    "set": ("set({})", "{{{}}}"),
    "dict": ("dict({})",),
    "bytes": ("{}.encode()", "bytes({})"),
    "bytearray": ("bytearray({})",),
    "Decimal": ("Decimal({})", "Decimal(str({}))"),
    "PosixPath": ("Path({})",),
    "Path": ("Path({})",),
    "timedelta": ("timedelta(seconds={})",),
    "Fraction": ("Fraction({})",),
    "frozenset": ("frozenset({})",),
}
TYPES = re.compile(
    r"['\"<]([A-Za-z_][\w.]*)['\">]|"
    r"\b(?:not|expected|found|must be|from) (str|int|float|bytes|list|tuple)\b"
)
OPERATION = re.compile(
    r"unsupported operand|can only concatenate|not supported between|"
    r"must be (?:str|int|real|integer)|can't multiply|"
    r"expected (?:str|string|bytes|int|at most)|object cannot be interpreted|"
    r"not all arguments converted|a bytes-like object|can't concat|argument must be|"
    r"cannot use a (?:string|bytes) pattern|must be string|write\(\) argument|"
    r"initial_value must|float argument|integer argument|number is required|a real number"
)


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair what the message of a TypeError names, in the two innermost frames."""
    if not view.failure.is_a("TypeError"):
        return
    message = view.failure.message
    kinds = [a or b for a, b in TYPES.findall(message)]
    kinds += ["bytes"] if "bytes-like" in message else []
    for depth, spot in enumerate(view.spots[:2]):
        for change in _at(spot, message, kinds):
            yield change._replace(cost=change.cost + 0.4 * depth)


def _at(spot: Spot, message: str, kinds: List[str]) -> Iterator[GuidedProposal]:
    # A None is repaired by its own template.
    if "NoneType" not in kinds and OPERATION.search(message):
        yield from _convert(spot, kinds)
    if "unhashable type" in message:
        yield from make_hashable(spot, kinds, COST)
    if "expected str instance" in message:
        yield from _texts_joined(spot)
    if "indices must be" in message or "slice indices" in message:
        yield from fix_index(spot, COST)
    if (
        "coroutine" in kinds
        or "async" in message
        or "await" in message
        or "Future" in message
        or "context manager" in message
    ):
        yield from _add_await(spot, message)
    if "not subscriptable" in message or "for |" in message:
        yield from _annotations(spot)
    if "offset-naive" in message:
        yield from _time_zones(spot)
    if re.search(
        r"not (?:iterable|subscriptable|reversible|an iterator)|has no len|is not a container",
        message,
    ):
        yield from fix_collection_use(spot, kinds, COST)
    if (
        "does not support item assignment" in message
        or "object doesn't support item deletion" in message
    ):
        yield from make_mutable(spot, COST)


def _convert(spot: Spot, kinds: List[str]) -> Iterator[GuidedProposal]:
    """Convert operands to each other's type, and arguments to the required type."""
    pairs: List[Tuple[ast.expr, ...]] = [(n.left, n.right) for n in spot.find(ast.BinOp)[:3]]
    pairs += [(n.left, n.comparators[0]) for n in spot.find(ast.Compare)[:2]]
    pairs += [(n.value,) for n in spot.find(ast.AugAssign)]
    pairs += [
        tuple(a for a in n.args if not isinstance(a, ast.Starred))[:3]
        for n in spot.find(ast.Call)[:3]
    ]
    pairs += [(plain_slice(n),) for n in spot.find(ast.Subscript)[:1]]
    wanted = list(dict.fromkeys([*kinds, "str", "int"]))
    for number, pair in enumerate(pairs):
        for node in reversed(pair):
            text, part = spot.text(node), spot.source.part(node, 16)
            for rank, kind in enumerate(wanted):
                for form in CONVERSIONS.get(kind, ()):
                    shown = part if form.startswith("{}.") else text
                    if not text.startswith(form.split("{")[0] or "\0"):
                        yield spot.replace(
                            COST + 0.1 * number + 0.08 * rank, node, form.format(shown)
                        )
            for attribute in ("value", "name"):
                yield spot.replace(COST + 0.7 + 0.1 * number, node, f"{part}.{attribute}")


def _texts_joined(spot: Spot) -> Iterator[GuidedProposal]:
    for call in spot.find(
        ast.Call, lambda c: isinstance(c.func, ast.Attribute) and c.func.attr == "join"
    )[:2]:
        for argument in call.args[:1]:
            if isinstance(argument, (ast.GeneratorExp, ast.ListComp)):
                yield spot.replace(COST - 0.1, argument.elt, f"str({spot.text(argument.elt)})")
            else:
                yield spot.replace(COST - 0.1, argument, f"map(str, {spot.text(argument)})")
                yield spot.replace(
                    COST + 0.1, argument, f"(x or '' for x in {spot.text(argument)})"
                )


def _add_await(spot: Spot, message: str) -> Iterator[GuidedProposal]:
    if "can't be used in 'await'" in message:
        for node in spot.find(ast.Await):
            yield spot.replace(COST - 0.1, node, spot.text(node.value))
    for call in spot.find(ast.Call)[:3]:
        if not isinstance(spot.source.places[call].parent, ast.Await) and isinstance(
            spot.function, ast.AsyncFunctionDef
        ):
            yield spot.replace(COST - 0.1, call, f"await {spot.text(call)}")
    for name in spot.find(ast.Name, lambda n: isinstance(n.ctx, ast.Load))[:3]:
        if isinstance(spot.function, ast.AsyncFunctionDef):
            yield spot.replace(COST + 0.2, name, f"await {name.id}")
    statement = spot.statement
    if isinstance(statement, (ast.With, ast.For)) and isinstance(
        spot.function, ast.AsyncFunctionDef
    ):
        at = spot.source.span(statement)[0]
        yield spot.edit(COST - 0.1, TextEdit(at, at, "async "))
    if isinstance(statement, (ast.AsyncWith, ast.AsyncFor)):
        at = spot.source.span(statement)[0]
        yield spot.edit(COST - 0.1, TextEdit(at, spot.source.data.index(b"async", at) + 6, ""))


def _annotations(spot: Spot) -> Iterator[GuidedProposal]:
    """Rewrite newer annotation syntax for older versions of Python."""
    if any(spot.in_annotation(n) for n in spot.nodes):
        yield spot.edit(COST - 0.2, *with_import(spot.source, "from __future__ import annotations"))
    generic = {
        "list": "List",
        "dict": "Dict",
        "tuple": "Tuple",
        "set": "Set",
        "type": "Type",
        "frozenset": "FrozenSet",
    }
    for node in spot.find(ast.Subscript):
        if isinstance(node.value, ast.Name) and node.value.id in generic:
            name = generic[node.value.id]
            edit = spot.source.replacement(node.value, name)
            yield spot.edit(COST, *with_import(spot.source, f"from typing import {name}", (edit,)))
    for union in spot.find(ast.BinOp, lambda n: isinstance(n.op, ast.BitOr)):
        text = f"Union[{spot.text(union.left)}, {spot.text(union.right)}]"
        edit = spot.source.replacement(union, text)
        yield spot.edit(COST, *with_import(spot.source, "from typing import Union", (edit,)))


def _time_zones(spot: Spot) -> Iterator[GuidedProposal]:
    needs = "from datetime import timezone"
    for call in spot.find(ast.Call, lambda c: getattr(c.func, "attr", "") in ("now", "utcnow")):
        value = spot.text(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        edit = spot.source.replacement(call, f"{value}.now(timezone.utc)")
        yield spot.edit(COST - 0.1, *with_import(spot.source, needs, (edit,)))
    sides = [side for n in spot.find(ast.Compare) for side in (n.left, n.comparators[0])]
    sides += [side for n in spot.find(ast.BinOp) for side in (n.left, n.right)]
    for side in sides:
        part = spot.source.part(side, 16)
        yield spot.replace(COST + 0.1, side, f"{part}.replace(tzinfo=None)")
        edit = spot.source.replacement(side, f"{part}.replace(tzinfo=timezone.utc)")
        yield spot.edit(COST + 0.15, *with_import(spot.source, needs, (edit,)))
