"""The frames of a traceback: the files of their code and the expression that was evaluated."""

from __future__ import annotations

import ast
import linecache
import os
import types
from typing import Iterator, List, Optional, Tuple

NOT_OURS = ("/site-packages/", "/dist-packages/", "/.venv/", "/venv/", "/.tox/")

Span = Tuple[int, int, int, int]
"""First line, last line, first column, last column (UTF-8)."""

Frame = Tuple[types.FrameType, int, int]
"""A frame with its current instruction and line."""


def iterate_frames(tb: Optional[types.TracebackType]) -> Iterator[Frame]:
    """Yield the frames from the outermost to the one that raised."""
    while tb is not None:
        yield tb.tb_frame, tb.tb_lasti, tb.tb_lineno
        tb = tb.tb_next


def relative(filename: str, root: str) -> str:
    """Return a path relative to the checkout, or unchanged outside of it."""
    path = os.path.realpath(filename) if os.path.isabs(filename) else filename
    top = os.path.realpath(root)
    if path.startswith(top + os.sep) and not any(part in path for part in NOT_OURS):
        return os.path.relpath(path, top)
    return filename


def expression_span(frame: types.FrameType, lasti: int, line: int) -> Optional[Span]:
    """Return the span of the evaluated expression; known from Python 3.11 on."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None:
        return None
    found = None
    for offset, position in enumerate(positions()):
        if offset * 2 == lasti:
            found = position
            break
    if not found or None in found or found[0] > line or found[1] < line:
        return None
    return (found[0], found[1], found[2], found[3])


def nodes_at(last: Frame) -> List[ast.AST]:
    """Return the expressions on the line of an exception, the evaluated one first."""
    frame, lasti, line = last
    filename = frame.f_code.co_filename
    text = "".join(linecache.getlines(filename, frame.f_globals))
    if not text or len(text) > 2_000_000:
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    nodes = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.expr) and n.lineno <= line <= (n.end_lineno or n.lineno)
    ]
    span = expression_span(frame, lasti, line)
    exact = [
        n
        for n in nodes
        if span and (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset) == span
    ]
    return [*exact, *(n for n in nodes if n not in exact)]
