"""Make a module provide a removed name again, by an import or under its new definition."""

from __future__ import annotations

import ast
from typing import Any, Iterator

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.outer_scope import with_import
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import FunctionNode
from sandbox.guest.search.source.texts import close_names


def restore_name(
    name: str, source: Any, view: FailureContext, cost: float
) -> Iterator[GuidedProposal]:
    """Let a module of the checkout provide a name again."""
    spot = Spot(source, 1, None, {})
    own = view.module_name(source.path)
    defined = [s for s in source.tree.body if isinstance(s, (*FunctionNode, ast.ClassDef))]
    names = [s.name for s in defined]
    # A moved name is imported from its new home, for callers that use the old one.
    for rank, home in enumerate(h for h in view.lookups.homes_in_checkout(name) if h != own):
        package = own if source.path.endswith("__init__.py") else own.rpartition(".")[0]
        prefix = package + "."
        near = "." + home[len(prefix) :] if package and home.startswith(prefix) else home
        yield spot.edit(cost + 0.1 * rank, *with_import(source, f"from {near} import {name}"))
    for rank, near in enumerate(close_names(name, names, 3)):
        statement = defined[names.index(near)]
        at = source.data.index(
            near.encode("utf-8"), source.offset(statement.lineno, statement.col_offset) + 4
        )
        yield spot.edit(cost + 0.1 + 0.1 * rank, TextEdit(at, at + len(near.encode("utf-8")), name))
        uses = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == near]
        if uses:
            edits = (
                TextEdit(at, at + len(near.encode("utf-8")), name),
                *(source.replacement(n, name) for n in uses),
            )
            yield spot.edit(cost + 0.05 + 0.1 * rank, *edits)
        lines = source.whole_lines(statement)
        if lines:
            end = "" if source.data[: lines[1]].endswith(b"\n") else source.newline
            text = f"{end}{source.newline}{source.newline}{name} = {near}{source.newline}"
            yield spot.edit(cost + 0.3 + 0.1 * rank, TextEdit(lines[1], lines[1], text))
