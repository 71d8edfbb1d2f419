"""An argument of the wrong type: convert it, or widen or change the parameter's annotation."""

from __future__ import annotations

import ast
import re
from typing import Iterator

from sandbox.guest.search.findings.checker_types import CONVERTS, GOT, WANTED, find_type, spell_type
from sandbox.guest.search.findings.model import FixDraft
from sandbox.guest.search.findings.place import FUNCTIONS, FindingPlace
from sandbox.guest.search.source.render import TextEdit

CODES = frozenset({"arg-type", "reportArgumentType", "invalid-argument-type"})
CHANGES = (
    (
        "def f(a) -> None:\n    g(a)\n\nf(h(1))\n",
        (4, 3, "arg-type", 'Argument 1 to "f" has incompatible type "int"; expected "str"'),
        "def f(a) -> None:\n    g(a)\n\nf(str(h(1)))\n",
    ),
    (
        "def f(a: str) -> None:\n    g(a)\n\nf(1)\n",
        (4, 3, "arg-type", 'Argument 1 to "f" has incompatible type "int"; expected "str"'),
        "def f(a: int) -> None:\n    g(a)\n\nf(1)\n",
    ),
)
UNTOUCHED = (
    ("f(1)\n", (1, 1, "arg-type", "")),
    ("x = 1\n", (1, 1, "arg-type", 'has type "int"; expected "str"')),
)


def propose(place: FindingPlace) -> Iterator[FixDraft]:
    """Convert the argument; widen or change the annotation of a function in this file."""
    got, wanted = find_type(GOT, place.message), find_type(WANTED, place.message)
    number = re.search(r"Argument (?:(\d+)|\"(\w+)\") to \"(\w+)\"", place.message)
    calls = [n for n in place.here(ast.Call) if isinstance(n, ast.Call)]
    named = [
        n
        for n in calls
        if number and number.group(3) in {getattr(n.func, "id", ""), getattr(n.func, "attr", "")}
    ]
    for node in (named or calls)[:1]:
        index = int(number.group(1)) - 1 if number and number.group(1) else 0
        values = [k.value for k in node.keywords if number and k.arg == number.group(2)]
        values += node.args[index : index + 1]
        if wanted in CONVERTS and values:
            yield place.replace(0.5, values[0], f"{wanted}({place.source.text(values[0])})")
        if number is not None:
            yield from _parameter(place, number, index, got)


def _parameter(
    place: FindingPlace, called: re.Match[str], index: int, got: str
) -> Iterator[FixDraft]:
    keyword, name = called.group(2), called.group(3)
    for node in place.nodes:
        if not isinstance(node, FUNCTIONS) or node.name != name:
            continue
        plain = [*getattr(node.args, "posonlyargs", []), *node.args.args]
        if plain and plain[0].arg in {"self", "cls"}:
            plain = plain[1:]
        chosen = [a for a in [*plain, *node.args.kwonlyargs] if a.arg == keyword] or plain[
            index : index + 1
        ]
        if not chosen or chosen[0].annotation is None:
            continue
        annotation = chosen[0].annotation
        start, end = place.source.span(annotation)
        old = place.source.text(annotation)
        for text, more in spell_type(place, got):
            yield FixDraft(0.8, (TextEdit(start, end, f"{old} | {text}"), *more))
            yield FixDraft(0.9, (TextEdit(start, end, text), *more))
