"""Endless loops end after a number of turns: a call is put into the head of every `while` before it is compiled."""

from __future__ import annotations

import ast
from typing import List, Optional, Sequence, Tuple

from sandbox.guest.search.process.limits import TICK_NAME
from sandbox.guest.search.source.render import Edit, Source

Head = Tuple[int, int]
"""The bytes between `while` and its colon."""


def heads_of(source: Source, function: ast.AST) -> Tuple[Head, ...]:
    """The conditions of all loops of a function that can turn without end, as spans of its file."""
    heads = [_head(source, node) for node in ast.walk(function) if isinstance(node, ast.While)]
    return tuple(sorted(head for head in heads if head is not None))


def _head(source: Source, loop: ast.While) -> Optional[Head]:
    start = source.offset(loop.lineno, loop.col_offset) + len("while")
    end = at = source.span(loop.test)[1]
    while source.data[at : at + 1] in (b" ", b"\t", b")"):
        at += 1
        end = at if source.data[at - 1 : at] == b")" else end
    return (start, end) if source.data[at : at + 1] == b":" else None


def with_guards(edits: Sequence[Edit], heads: Sequence[Head]) -> Tuple[Edit, ...]:
    """These edits and the guards of all loop heads whose ends they leave alone, as edits of the same file."""
    result = list(edits)
    for start, end in heads:
        if any(edit.start < start < edit.end or edit.start < end < edit.end for edit in edits):
            continue
        result = _insert(result, start, end)
    return tuple(result)


def _insert(edits: List[Edit], start: int, end: int) -> List[Edit]:
    """Put a guard around a condition; what is put in at its ends stays inside."""
    inside_first = [e for e in edits if e.start == e.end == start]
    inside_last = [e for e in edits if e.start == e.end == end and e not in inside_first]
    rest = [e for e in edits if e not in inside_first and e not in inside_last]
    opening = f" {TICK_NAME}() and (" + "".join(e.text for e in inside_first)
    closing = "".join(e.text for e in inside_last) + ")"
    return sorted([*rest, Edit(start, start, opening), Edit(end, end, closing)])
