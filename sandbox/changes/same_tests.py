"""Prove that an edit of a test keeps what the test does. Only then may a tool edit it."""

from sandbox.changes.imports import same_but_imports
from sandbox.changes.syntax import is_python
from sandbox.languages.same_program import can_prove, same_source


def can_prove_tests(path: str) -> bool:
    """Return True if there is a proof for files with such a name."""
    return is_python(path) or can_prove(path)


def same_tests(path: str, old: str, new: str) -> bool:
    """Return True if two texts of a file provably do the same.

    Layout may differ, and in Python also comments, the order of imports and unused imports.

    Args:
        path: Path of the file.
        old: The text before; hostile.
        new: The text after; hostile.
    """
    if "\ufffd" in old:
        return False  # it stands for bytes that are no text, which may differ
    if is_python(path):
        return same_but_imports(path, old, new)
    return same_source(path, old, new)
