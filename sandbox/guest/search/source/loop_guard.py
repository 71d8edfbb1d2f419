"""Loop guards: a call in the condition of every `while` ends endless loops."""

from __future__ import annotations

import ast
from typing import List, Optional, Sequence, Tuple

from sandbox.guest.search.process.limits import TICK_NAME
from sandbox.guest.search.source.render import SourceFile, TextEdit

Head = Tuple[int, int]
"""The span of bytes between `while` and its colon."""


def find_heads(source: SourceFile, function: ast.AST) -> Tuple[Head, ...]:
    """Return the spans of all conditions of `while` loops of a function."""
    heads = [_head(source, node) for node in ast.walk(function) if isinstance(node, ast.While)]
    return tuple(sorted(head for head in heads if head is not None))


def _head(source: SourceFile, loop: ast.While) -> Optional[Head]:
    start = source.offset(loop.lineno, loop.col_offset) + len("while")
    end = at = source.span(loop.test)[1]
    # Closing parentheses belong to the condition: `while (a):`.
    while source.data[at : at + 1] in (b" ", b"\t", b")"):
        at += 1
        end = at if source.data[at - 1 : at] == b")" else end
    return (start, end) if source.data[at : at + 1] == b":" else None


def with_guards(edits: Sequence[TextEdit], heads: Sequence[Head]) -> Tuple[TextEdit, ...]:
    """Return these edits and the guards of all loops whose condition ends they keep."""
    result = list(edits)
    for start, end in heads:
        if any(edit.start < start < edit.end or edit.start < end < edit.end for edit in edits):
            continue
        result = _insert(result, start, end)
    return tuple(result)


def _insert(edits: List[TextEdit], start: int, end: int) -> List[TextEdit]:
    """Add a guard around a condition; insertions at its ends stay inside."""
    inside_first = [e for e in edits if e.start == e.end == start]
    inside_last = [e for e in edits if e.start == e.end == end and e not in inside_first]
    rest = [e for e in edits if e not in inside_first and e not in inside_last]
    opening = f" {TICK_NAME}() and (" + "".join(e.text for e in inside_first)
    closing = "".join(e.text for e in inside_last) + ")"
    return sorted([*rest, TextEdit(start, start, opening), TextEdit(end, end, closing)])
