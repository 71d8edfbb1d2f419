"""Break circular imports by moving an import to where it is needed."""

from __future__ import annotations

import ast
from typing import Any, Iterator, List

from sandbox.guest.search.candidates.spots import GuidedProposal, Spot
from sandbox.guest.search.source.outer_scope import with_import
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import FunctionNode


def postpone_import(spot: Spot, node: Any, cost: float) -> Iterator[GuidedProposal]:
    """Move an import into the functions that use it, to the file's end, or under TYPE_CHECKING."""
    lines = spot.source.whole_lines(node)
    if lines is None or spot.function is not None:
        return
    names = {(a.asname or a.name).split(".")[0] for a in node.names}
    text = spot.text(node)
    users = [
        f for f in ast.walk(spot.source.tree) if isinstance(f, FunctionNode) and _uses(f, names)
    ]
    # A nested function sees the import of the function around it.
    outermost = [f for f in users if not any(f is not g and _holds(g, f) for g in users)]
    removed = TextEdit(lines[0], lines[1], "")
    edits: List[TextEdit] = []
    for function in outermost[:12]:
        body = function.body
        documented = (
            len(body) > 1
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        )
        first = body[1] if documented else body[0]
        indent = spot.source.indent(first)
        if indent is None or "\n" in text:
            return
        at = spot.source.line_span(first.lineno, first.lineno)[0]
        edits.append(TextEdit(at, at, f"{indent}{text}{spot.source.newline}"))
    if edits:
        yield spot.edit(cost, removed, *edits)
    size = len(spot.source.data)
    end = "" if spot.source.data.endswith(b"\n") else spot.source.newline
    yield spot.edit(cost + 0.4, removed, TextEdit(size, size, f"{end}{text}{spot.source.newline}"))
    code = f"if TYPE_CHECKING:{spot.source.newline}    {text}{spot.source.newline}"
    if not outermost:
        edits_of = with_import(spot.source, "from typing import TYPE_CHECKING")
        yield spot.edit(cost + 0.3, removed._replace(text=code), *edits_of)


def _uses(function: ast.AST, names: Any) -> bool:
    body = getattr(function, "body", [])
    return any(isinstance(n, ast.Name) and n.id in names for s in body for n in ast.walk(s))


def _holds(outer: ast.AST, inner: ast.AST) -> bool:
    return any(n is inner for n in ast.walk(outer))
