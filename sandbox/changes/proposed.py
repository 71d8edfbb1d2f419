"""What a program in the sandbox proposes, held to the rules before it is believed: its files, names and words."""

import re
from collections.abc import Sequence
from fnmatch import fnmatch

from sandbox.changes.paths import is_safe_path
from sandbox.types import SpanEdit

_TEMPLATE = re.compile(r"[a-z][a-z0-9_]{0,40}(?:\+[a-z][a-z0-9_]{0,40}){0,5}")


def may_propose(
    path: str, edits: Sequence[SpanEdit], *, protected: Sequence[str], most: int, suffixes: tuple[str, ...] = (".py",)
) -> bool:
    """Whether edits, the first of them in this file, are of Python files that may be edited, and not too many.

    Args:
        path: The file they say they are about.
        edits: In any number of files.
        protected: Path patterns that may not be edited.
        most: How many edits at the most.
        suffixes: How the names of files may end.
    """
    if not 0 < len(edits) <= most or edits[0].path != path:
        return False
    paths = {edit.path for edit in edits}
    return all(edit.start <= edit.end for edit in edits) and all(_is_open(one, protected, suffixes) for one in paths)


def _is_open(path: str, protected: Sequence[str], suffixes: tuple[str, ...]) -> bool:
    hidden = any(part.startswith(".") for part in path.split("/"))
    known = is_safe_path(path) and path.endswith(suffixes) and not hidden
    return known and not any(fnmatch(path, pattern) for pattern in protected)


def is_template(name: str) -> bool:
    """Whether a name can be that of a template, or of several."""
    return _TEMPLATE.fullmatch(name) is not None


def one_line(text: str, most: int) -> str:
    """One line of printable text."""
    return "".join(character if character.isprintable() else " " for character in text[:most])
