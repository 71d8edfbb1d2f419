"""Misused containers: unhashable keys, wrong index types, iteration over single values."""

from __future__ import annotations

import ast
from typing import Iterator, List

from sandbox.guest.search.candidates.spots import GuidedProposal, Spot
from sandbox.guest.search.source.render import TextEdit


def make_hashable(spot: Spot, kinds: List[str], cost: float) -> Iterator[GuidedProposal]:
    """Convert an unhashable key to a tuple or text, or replace the set by a list."""
    makers = {
        "list": ("tuple",),
        "set": ("frozenset",),
        "dict": ("str", "id"),
        "ndarray": ("tuple",),
    }
    chosen = next((makers[k] for k in kinds if k in makers), ("tuple", "str"))
    keys = [
        k for k in map(plain_slice, spot.find(ast.Subscript)[:2]) if not isinstance(k, ast.Slice)
    ]
    keys += [k for table in spot.find(ast.Dict) for k in table.keys if k is not None]
    keys += [n.elt for n in spot.find(ast.SetComp)] + [n.key for n in spot.find(ast.DictComp)]
    keys += [n.left for n in spot.find(ast.Compare)]
    yield from _listed_instead(spot, cost)
    for maker in chosen:
        for key in keys:
            yield spot.replace(cost, key, f"{maker}({spot.text(key)})")
        for call in spot.find(ast.Call)[:3]:
            for argument in call.args[:2]:
                yield spot.replace(cost + 0.1, argument, f"{maker}({spot.text(argument)})")
                if not isinstance(argument, ast.GeneratorExp):
                    yield spot.replace(cost + 0.1, argument, f"map({maker}, {spot.text(argument)})")


def _listed_instead(spot: Spot, cost: float) -> Iterator[GuidedProposal]:
    """Replace a set by a list, which accepts unhashable items."""
    root = spot.function or spot.source.tree
    names = {n.id for n in spot.find(ast.Name)}
    for node in ast.walk(root):
        if not isinstance(node, ast.Assign) or spot.text(node.value) != "set()":
            continue
        target = node.targets[0]
        if not isinstance(target, ast.Name) or target.id not in names:
            continue
        uses = [n for n in ast.walk(root) if isinstance(n, ast.Attribute) and n.attr == "add"]
        mine = [n for n in uses if isinstance(n.value, ast.Name) and n.value.id == target.id]
        edits = [spot.source.replacement(node.value, "[]")]
        yield spot.edit(
            cost + 0.1, *edits, *(TextEdit(*spot.attribute_span(n), "append") for n in mine)
        )


def fix_index(spot: Spot, cost: float) -> Iterator[GuidedProposal]:
    """Convert an index to a number, or access the item another way."""
    for subscript in spot.find(ast.Subscript)[:3]:
        key = plain_slice(subscript)
        if isinstance(key, ast.Slice):
            for bound in (key.lower, key.upper):
                if bound is not None:
                    yield spot.replace(cost, bound, f"int({spot.text(bound)})")
            continue
        text = spot.text(key)
        yield spot.replace(cost, key, f"int({text})")
        end = spot.source.span(subscript.value)[1]
        yield spot.edit(cost + 0.2, TextEdit(end, end, "[0]"))
        if (
            isinstance(key, ast.Constant)
            and isinstance(key.value, str)
            and key.value.isidentifier()
        ):
            yield spot.replace(
                cost + 0.1, subscript, f"{spot.source.part(subscript.value, 16)}.{key.value}"
            )
    for node in spot.find(ast.BinOp, lambda n: isinstance(n.op, ast.Div)):
        edit = spot.scope.gap(node.left, node.right, "/", "//")
        if edit:
            yield spot.edit(cost - 0.1, edit)


def fix_collection_use(spot: Spot, kinds: List[str], cost: float) -> Iterator[GuidedProposal]:
    """Call, convert or wrap a value that is used as a collection."""
    for node in spot.nodes:
        place = spot.source.places.get(node)
        if (
            place is None
            or not isinstance(node, ast.expr)
            or not _is_collection_place(place.parent, place.field)
        ):
            continue
        text, part = spot.text(node), spot.source.part(node, 16)
        if "method" in kinds or "function" in kinds or "builtin_function_or_method" in kinds:
            yield spot.replace(cost - 0.2, node, f"{part}()")
        if "int" in kinds:
            yield spot.replace(cost - 0.1, node, f"range({text})")
            yield spot.replace(cost + 0.1, node, f"str({text})")
        # A None is repaired by its own template.
        if "NoneType" not in kinds:
            yield spot.replace(cost + 0.1, node, f"[{text}]")
            yield spot.replace(cost + 0.2, node, f"list({text})")
            yield spot.replace(cost + 0.2, node, f"({text},)")
    for subscript in spot.find(ast.Subscript)[:2]:
        if "NoneType" not in kinds:
            text = spot.text(subscript.value)
            yield spot.replace(cost, subscript.value, f"list({text})")
            yield spot.replace(cost + 0.3, subscript, text)
            key = plain_slice(subscript)
            if (
                isinstance(key, ast.Constant)
                and isinstance(key.value, str)
                and key.value.isidentifier()
            ):
                yield spot.replace(
                    cost, subscript, f"{spot.source.part(subscript.value, 16)}.{key.value}"
                )


def _is_collection_place(parent: ast.AST, field: str) -> bool:
    if field == "iter":
        return True
    if isinstance(parent, ast.Call):
        return field == "args"
    return (isinstance(parent, ast.Compare) and field == "comparators") or isinstance(
        parent, ast.Starred
    )


def make_mutable(spot: Spot, cost: float) -> Iterator[GuidedProposal]:
    """Convert a tuple or string that is assigned to into a list."""
    for subscript in spot.find(ast.Subscript, lambda n: not isinstance(n.ctx, ast.Load)):
        if not isinstance(subscript.value, ast.Name) or spot.function is None:
            continue
        for node in ast.walk(spot.function):
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Name) and t.id == subscript.value.id for t in node.targets
            ):
                text = spot.text(node.value)
                if isinstance(node.value, ast.Tuple):
                    inner = text[1:-1] if text.startswith("(") else text
                    start, end = spot.source.span(node.value)
                    yield spot.edit(
                        cost - 0.1, TextEdit(start, end, f"[{inner.rstrip().rstrip(',')}]")
                    )
                yield spot.replace(cost, node.value, f"list({text})")


def plain_slice(node: ast.Subscript) -> ast.expr:
    """Return the expression between the brackets; Python 3.8 wraps it in `Index`."""
    inner = node.slice
    value = getattr(inner, "value", None)
    return value if type(inner).__name__ == "Index" and isinstance(value, ast.expr) else inner
