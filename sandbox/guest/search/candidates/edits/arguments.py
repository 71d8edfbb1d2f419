"""Add, rename and remove arguments of calls and parameters of functions."""

from __future__ import annotations

import ast
from typing import Any, Iterator, List

from sandbox.guest.search.candidates.moved_names import keyword_start
from sandbox.guest.search.candidates.spots import GuidedProposal, Spot
from sandbox.guest.search.source.outer_scope import end_of_argument
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.texts import close_names

STAND_INS = ("None", "''", "0", "()", "False", "True", "{}", "[]")
"""Placeholder values, used where no name fits."""


def remove_argument(
    spot: Spot, call: ast.Call, argument: ast.AST, cost: float
) -> Iterator[GuidedProposal]:
    """Remove an argument from a call."""
    pieces: List[ast.AST] = [*call.args, *call.keywords]
    spans = []
    for piece in pieces:
        if isinstance(piece, ast.keyword):
            start = keyword_start(spot, piece)
            if start is None:
                return
            spans.append((start, spot.source.span(piece.value)[1]))
        else:
            spans.append(spot.source.span(piece))
    index = pieces.index(argument)
    # Positional arguments may follow keywords in the form of `*args`.
    order = sorted(range(len(spans)), key=lambda i: spans[i])
    place = order.index(index)
    if place:
        yield spot.edit(cost, TextEdit(spans[order[place - 1]][1], spans[index][1], ""))
    elif len(order) > 1:
        yield spot.edit(cost, TextEdit(spans[index][0], spans[order[1]][0], ""))
    else:
        yield spot.edit(cost, TextEdit(*spans[index], ""))


def make_positional(
    spot: Spot, call: ast.Call, keyword: ast.keyword, cost: float
) -> Iterator[GuidedProposal]:
    """Replace the first keyword argument `name=value` by `value`."""
    start = keyword_start(spot, keyword)
    if start is not None and keyword is call.keywords[0]:
        yield spot.edit(cost, TextEdit(start, spot.source.span(keyword.value)[0], ""))


def append_arguments(spot: Spot, call: ast.Call, texts: List[str], cost: float) -> GuidedProposal:
    """Return a call with arguments appended."""
    last = [spot.source.span(a)[1] for a in call.args] + [
        spot.source.span(k.value)[1] for k in call.keywords
    ]
    text = ", ".join(texts)
    if last:
        return spot.edit(cost, TextEdit(max(last), max(last), f", {text}"))
    at = spot.source.span(call)[1] - 1
    return spot.edit(cost, TextEdit(at, at, text))


def rename_parameter(
    spot: Spot, node: Any, *, old: str, new: str, cost: float
) -> Iterator[GuidedProposal]:
    """Rename a parameter, with and without its uses."""
    arguments = [a for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.arg == old]
    uses = [n for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == old]
    if arguments:
        start = spot.source.span(arguments[0])[0]
        head = TextEdit(start, start + len(old.encode("utf-8")), new)
        edits = [TextEdit(*spot.source.span(n), new) for n in uses]
        yield spot.edit(cost, head, *edits)
        yield spot.edit(cost + 0.1, head)


def add_parameter(spot: Spot, node: Any, text: str, cost: float) -> Iterator[GuidedProposal]:
    """Append a parameter, before `**`."""
    arguments = node.args
    if text.startswith("**") and arguments.kwarg:
        return
    last = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs]
    ends = [end_of_argument(spot.source, a) for a in last if a is not None]
    ends += [
        spot.source.span(d)[1]
        for d in [*arguments.defaults, *arguments.kw_defaults]
        if d is not None
    ]
    if ends:
        yield spot.edit(cost, TextEdit(max(ends), max(ends), f", {text}"))
        return
    start = spot.source.data.index(b"(", spot.source.offset(node.lineno, node.col_offset)) + 1
    yield spot.edit(cost, TextEdit(start, start, text + (", " if arguments.kwarg else "")))


def change_self(spot: Spot, node: Any, cost: float) -> Iterator[GuidedProposal]:
    """Add `self`, or add or remove `@staticmethod` and `@classmethod`, for a method."""
    if not isinstance(spot.source.places[node].parent, ast.ClassDef):
        return
    names = [a.arg for a in all_arguments(node)]
    decorators = [spot.text(d) for d in node.decorator_list]
    if not decorators and names[:1] not in (["self"], ["cls"]):
        start = spot.source.data.index(b"(", spot.source.offset(node.lineno, node.col_offset)) + 1
        more = names or node.args.vararg or node.args.kwarg
        yield spot.edit(cost, TextEdit(start, start, "self, " if more else "self"))
    indent = spot.source.indent(node)
    for word in ("staticmethod", "classmethod"):
        if not decorators and indent is not None:
            at = spot.source.offset(node.lineno, 0)
            yield spot.edit(cost + 0.2, TextEdit(at, at, f"{indent}@{word}{spot.source.newline}"))
        elif word in decorators:
            decorator = node.decorator_list[decorators.index(word)]
            span = spot.source.line_span(decorator.lineno, decorator.lineno)
            yield spot.edit(cost + 0.2, TextEdit(*span, ""))


def all_arguments(node: Any) -> List[ast.arg]:
    """Return the named parameters, without `*` and `**`."""
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def values_for(name: str, spot: Spot) -> List[str]:
    """Return likely values for a parameter.

    These are the name itself, an attribute or a variable with a similar name, and placeholders.
    """
    names = spot.names
    found = [name] if name in names else []
    if spot.own and spot.classes:
        stored = [n.attr for n in ast.walk(spot.classes[-1]) if isinstance(n, ast.Attribute)]
        found += [f"{spot.own}.{n}" for n in dict.fromkeys(stored) if n in (name, "_" + name)]
    found += close_names(name, names, 3)
    parameters = (
        [a.arg for a in ast.walk(spot.function) if isinstance(a, ast.arg)] if spot.function else []
    )
    found += [p for p in parameters if p not in ("self", "cls")]
    return list(dict.fromkeys([*found[:6], *STAND_INS]))
