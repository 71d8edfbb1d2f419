"""Count what a change adds to the structure of the code: branches, which tests may not reach."""

import ast
from collections.abc import Mapping
from functools import lru_cache

from sandbox.types import Survivor, apply_spans, group_by_file

MOST_PARSED = 400_000
"""Longest text that is parsed, in characters."""


def added_branches(survivor: Survivor, originals: Mapping[str, str]) -> int:
    """Return how many branches a change adds; 0 if a file cannot be parsed.

    Args:
        survivor: The change.
        originals: Text of each edited file before, by path.
    """
    added = 0
    for path, edits in group_by_file(survivor.edits).items():
        old = originals.get(path, "")
        try:
            new = apply_spans(old, edits)
        except ValueError:  # it does not fit the file; others reject it
            continue
        before, after = _branches(old), _branches(new)
        if before is not None and after is not None:
            added += after - before
    return max(0, added)


@lru_cache(maxsize=32)
def _branches(text: str) -> int | None:
    """Return the number of branches of a text; None if it is not parsed."""
    if len(text) > MOST_PARSED:
        return None
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    plain = sum(isinstance(node, ast.If | ast.IfExp | ast.ExceptHandler) for node in nodes)
    filters = sum(len(node.ifs) for node in nodes if isinstance(node, ast.comprehension))
    operands = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return plain + filters + operands
