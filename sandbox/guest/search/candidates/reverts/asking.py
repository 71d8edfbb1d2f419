"""Whether the failing tests came with the change: then they ask for it, and undoing it is no answer."""

from __future__ import annotations

import ast
from typing import Any, Iterable, Mapping, Sequence, Tuple

MOST = 40
"""Failing tests that are looked at."""
Lines = Tuple[str, int, int]
"""Path of a test's file, its first and its last line."""


def asks_for_change(hunks: Iterable[Mapping[str, Any]], tests: Sequence[Lines]) -> bool:
    """Whether the diff wrote or changed one of these tests.

    Args:
        hunks: The diff; hunks of test files too.
        tests: Where the failing tests stand.
    """
    for hunk in hunks:
        path, first, count = str(hunk["path"]), int(hunk["line"]), int(hunk["lines"])
        last = first + max(count, 1) - 1
        if any(where == path and start <= last and first <= end for where, start, end in tests):
            return True
    return False


def places_of(names: Sequence[str], read: Any) -> Sequence[Lines]:
    """Where tests stand, by their node ids; a test that is not found is left out.

    Args:
        names: Node ids relative to the checkout.
        read: Gives the bytes of a file of the checkout, or None.
    """
    found = []
    trees: dict = {}  # type: ignore[type-arg]
    for name in names[:MOST]:
        path, *parts = name.split("::")
        if path not in trees:
            trees[path] = _parsed(read(path))
        node = _inside(trees[path], [part.partition("[")[0] for part in parts])
        if node is not None:
            decorators = [d.lineno for d in getattr(node, "decorator_list", ())]
            found.append((path, min([node.lineno, *decorators]), node.end_lineno or node.lineno))
    return found


def _parsed(data: Any) -> Any:
    try:
        return ast.parse(data) if data is not None else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _inside(tree: Any, parts: Sequence[str]) -> Any:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    node = tree
    for part in parts:
        body = getattr(node, "body", ())
        node = next((n for n in body if isinstance(n, kinds) and n.name == part), None)
    return node if node is not tree else None
