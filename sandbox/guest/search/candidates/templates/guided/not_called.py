"""A method or function where its result was meant: `<bound method ...>` in a message."""

from __future__ import annotations

import ast
import re
from typing import Iterator, Set

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import FunctionNode

COST = 0.3
CHANGES = (
    (
        "AssertionError: assert <bound method Circle.size of <shop.Circle object at 0x7f>> == 4",
        None,
        "class Circle:\n    def size(self):\n        return 4\n",
        "class Circle:\n    @property\n    def size(self):\n        return 4\n",
        {"files": ["module.py"]},
    ),
    (
        "AssertionError: ",
        None,
        "class Circle:\n    def size(self):\n        return 4\n",
        "class Circle:\n    @property\n    def size(self):\n        return 4\n",
        {"uncalled": [{"file": "module.py", "line": 2}]},
    ),
    (
        "TypeError: unsupported operand type(s) for +: 'method' and 'int'",
        2,
        "def f(a):\n    return a.size + 1\n",
        "def f(a):\n    return a.size() + 1\n",
    ),
    (
        "AssertionError: assert [<built-in method upper of str object at 0x7f>] == ['A']",
        2,
        "def f(a):\n    return [x.upper for x in a]\n",
        "def f(a):\n    return [x.upper() for x in a]\n",
    ),
    (
        "AssertionError: assert <generator object f at 0x7f> == [1]",
        None,
        "def f(a):\n    return (x for x in a)\n",
        "def f(a):\n    return list(x for x in a)\n",
        {"files": ["module.py"]},
    ),
)
UNTOUCHED = (("AssertionError: assert 3 == 4", 2, "def f(a):\n    return a.size + 1\n"),)

BOUND = re.compile(r"<bound method ([\w.<>]+) of")
PLAIN = re.compile(
    r"<(?:function|built-in method|built-in function|coroutine object|"
    r"generator object|map object) ?([\w.<>]*)"
)
KINDS = ("'method'", "'function'", "'builtin_function_or_method'", "'coroutine'", "'generator'")
LAZY = (
    "generator object",
    "map object",
    "filter object",
    "zip object",
    "dict_keys",
    "dict_values",
    "odict_keys",
)


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Call the function, make it a property, or convert its lazy result to a list."""
    for entry in view.failure.extra.get("uncalled") or ():
        for source, function in view.function_at(
            str(entry.get("file")), int(entry.get("line") or 0)
        ):
            if isinstance(source.places[function].parent, ast.ClassDef):
                yield from _property(Spot(source, function.lineno, None, {}), function)
    message = view.failure.message
    bound, plain = BOUND.search(message), PLAIN.search(message)
    if not bound and not plain and not any(kind in message for kind in KINDS):
        return
    names = {found.group(1).split(".")[-1] for found in (bound, plain) if found}
    for depth, spot in enumerate(view.spots[:2]):
        yield from _called(spot, names, COST + 0.4 * depth)
    for source in view.sources():
        for function in [
            n for n in ast.walk(source.tree) if isinstance(n, FunctionNode) and n.name in names
        ]:
            spot = Spot(source, function.lineno, None, {})
            owner = source.places[function].parent
            if (
                bound
                and isinstance(owner, ast.ClassDef)
                and owner.name in bound.group(1).split(".")
            ):
                yield from _property(spot, function)
            if any(word in message for word in LAZY):
                yield from _listed(spot, function)


def _called(spot: Spot, names: Set[str], cost: float) -> Iterator[GuidedProposal]:
    for node in spot.find(ast.Attribute, lambda n: isinstance(n.ctx, ast.Load))[:6]:
        place = spot.source.places[node]
        called = isinstance(place.parent, ast.Call) and place.field == "func"
        if (
            not called
            and not isinstance(place.parent, ast.Attribute)
            and (not names or node.attr in names)
        ):
            yield spot.insert(cost, spot.source.span(node)[1], "()")


def _property(
    spot: Spot, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[GuidedProposal]:
    indent = spot.source.indent(function)
    if indent is not None and not function.decorator_list and len(function.args.args) == 1:
        at = spot.source.offset(function.lineno, 0)
        yield spot.edit(COST - 0.1, TextEdit(at, at, f"{indent}@property{spot.source.newline}"))


def _listed(
    spot: Spot, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[GuidedProposal]:
    """Convert lazily returned values to a list, tuple, set or dictionary."""
    for statement in [
        n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None
    ]:
        value = statement.value
        if isinstance(value, ast.GeneratorExp):
            inner = spot.text(value)[1:-1]
            for rank, word in enumerate(("list", "tuple", "set", "sum", "''.join")):
                yield spot.replace(COST + 0.1 * rank, value, f"{word}({inner})")
        elif value is not None:
            for rank, word in enumerate(("list", "tuple", "set", "dict")):
                yield spot.replace(COST + 0.1 + 0.1 * rank, value, f"{word}({spot.text(value)})")
