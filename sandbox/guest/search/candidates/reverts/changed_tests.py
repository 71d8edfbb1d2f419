"""Detect whether the failing tests belong to the change, in which case a revert is no fix."""

from __future__ import annotations

import ast
from typing import Any, Iterable, Mapping, Sequence, Tuple

MAX_TESTS = 40
"""Maximum failing tests examined."""
Lines = Tuple[str, int, int]
"""Path of a test file, and the first and last line of a test."""


def changes_tests(hunks: Iterable[Mapping[str, Any]], tests: Sequence[Lines]) -> bool:
    """Return True if the diff added or changed one of these tests.

    Args:
        hunks: The diff, including hunks of test files.
        tests: Locations of the failing tests.
    """
    for hunk in hunks:
        path, first, count = str(hunk["path"]), int(hunk["line"]), int(hunk["lines"])
        last = first + max(count, 1) - 1
        if any(where == path and start <= last and first <= end for where, start, end in tests):
            return True
    return False


def locate_tests(names: Sequence[str], read: Any) -> Sequence[Lines]:
    """Return the locations of tests by node id, skipping tests that are not found.

    Args:
        names: Node ids relative to the checkout.
        read: Returns the bytes of a file of the checkout, or None.
    """
    found = []
    trees: dict = {}  # type: ignore[type-arg]
    for name in names[:MAX_TESTS]:
        path, *parts = name.split("::")
        if path not in trees:
            trees[path] = _parse(read(path))
        node = _inside(trees[path], [part.partition("[")[0] for part in parts])
        if node is not None:
            # A changed decorator, such as a parametrization, changes the test.
            decorators = [d.lineno for d in getattr(node, "decorator_list", ())]
            found.append((path, min([node.lineno, *decorators]), node.end_lineno or node.lineno))
    return found


def _parse(data: Any) -> Any:
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
