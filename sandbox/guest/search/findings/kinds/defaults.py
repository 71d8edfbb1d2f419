"""Mutable or computed defaults, which all calls share: create the value in the function."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.findings.model import FixDraft
from sandbox.guest.search.findings.place import FUNCTIONS, FindingPlace, Function, body_start
from sandbox.guest.search.source.render import TextEdit

CODES = frozenset({"B006", "B008", "W0102", "RUF009", "reportCallInDefaultInitializer"})
CHANGES = (
    (
        "def f(a, b=[]):\n    b.append(a)\n    return b\n",
        (1, 12, "B006", "Do not use mutable data structures for argument defaults"),
        "def f(a, b=None):\n    if b is None:\n        b = []\n    b.append(a)\n    return b\n",
    ),
    (
        'def f(self, a={1: 2}):\n    """Say."""\n    g(a)\n',
        (1, 1, "W0102", "Dangerous default value {} as argument"),
        'def f(self, a=None):\n    """Say."""\n    if a is None:\n        a = {1: 2}\n    g(a)\n',
    ),
    (
        "def f(a: list[int] = [], *, b=g()):\n    return a, b\n",
        (1, 31, "B008", "Do not perform function call `g` in argument defaults"),
        (
            "def f(a: list[int] = [], *, b=None):\n"
            "    if b is None:\n        b = g()\n    return a, b\n"
        ),
    ),
    (
        "def f(a: list[int] = []):\n    return a\n",
        (1, 22, "B006", ""),
        "def f(a: list[int] | None = None):\n    if a is None:\n        a = []\n    return a\n",
    ),
)
UNTOUCHED = (
    ("def f(a, b=1):\n    return a\n", (1, 1, "B006", "")),
    ("x = []\n", (1, 5, "B006", "")),
)


def propose(place: FindingPlace) -> Iterator[FixDraft]:
    """Replace the default by None and create the value at the start of the function."""
    line = place.finding.line
    for node in place.nodes:
        if (
            isinstance(node, FUNCTIONS)
            and node.lineno <= line < max(line, body_start(node).lineno) + 1
        ):
            pairs = [(a, d) for a, d in _defaults(node) if _is_shared(d)]
            at_place = [
                (a, d) for a, d in pairs if d.lineno == line and _near(d, place.finding.column)
            ]
            named = at_place or [(a, d) for a, d in pairs if d.lineno == line]
            for chosen in ([*named[:1]], pairs):
                yield from _create_in_body(place, node, chosen)


def _near(node: ast.expr, column: int) -> bool:
    return node.col_offset <= column - 1 <= (node.end_col_offset or node.col_offset)


def _defaults(function: Function) -> Iterator[Tuple[ast.arg, ast.expr]]:
    arguments = function.args
    plain = [*getattr(arguments, "posonlyargs", []), *arguments.args]
    yield from zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        if default is not None:
            yield argument, default


def _is_shared(node: ast.expr) -> bool:
    kinds = (ast.List, ast.Dict, ast.Set, ast.Call, ast.ListComp, ast.DictComp, ast.SetComp)
    return isinstance(node, kinds)


def _create_in_body(
    place: FindingPlace, function: Function, pairs: List[Tuple[ast.arg, ast.expr]]
) -> Iterator[FixDraft]:
    if not pairs:
        return
    first = body_start(function)
    indent: Optional[str] = place.source.indent(first)
    if indent is None:
        return
    step = indent[len(place.source.indent(function) or "") :] or "    "
    lines = []
    for argument, default in pairs:
        lines += [
            f"if {argument.arg} is None:",
            f"{step}{argument.arg} = {place.source.text(default)}",
        ]
    is_text = (
        first is function.body[0]
        and isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
    )
    if is_text:
        end = place.source.line_span(first.lineno, first.end_lineno or first.lineno)[1]
        inside: Tuple[TextEdit, ...] = (
            TextEdit(end, end, "".join(f"{indent}{line}{place.source.newline}" for line in lines)),
        )
    else:
        inside = place.before(first, *lines)
    plain = tuple(place.source.replacement(default, "None") for _, default in pairs)
    annotated = [argument for argument, _ in pairs if argument.annotation is not None]
    if not annotated:
        yield FixDraft(0.4, (*plain, *inside))
        return
    for way in (0, 1):
        edits, cost = list(plain), 0.4
        for argument in annotated:
            assert argument.annotation is not None
            text, more, extra = list(place.optional(place.source.text(argument.annotation)))[way]
            start, end = place.source.span(argument.annotation)
            edits += [TextEdit(start, end, text), *(e for e in more if e not in edits)]
            cost += extra
        yield FixDraft(cost, (*edits, *inside))
    yield FixDraft(1.0, (*plain, *inside))
