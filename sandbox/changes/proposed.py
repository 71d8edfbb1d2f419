"""Validation of proposals from the sandbox: their files, names and texts."""

import re
from collections.abc import Sequence
from fnmatch import fnmatch

from sandbox.changes.paths import is_safe_path
from sandbox.languages import is_checked_source, is_source
from sandbox.types import SpanEdit

_TEMPLATE = re.compile(r"[a-z][a-z0-9_]{0,40}(?:\+[a-z][a-z0-9_]{0,40}){0,5}")


def is_valid_proposal(
    path: str,
    edits: Sequence[SpanEdit],
    *,
    protected: Sequence[str],
    most: int,
    stubs: bool = False,
) -> bool:
    """Return True if edits only concern permitted source files and are not too many.

    Args:
        path: The file of the first edit.
        edits: Edits in any number of files.
        protected: Path patterns that must not be edited.
        most: Maximum number of edits.
        stubs: Permit files that only declare types, too.
    """
    if not 0 < len(edits) <= most or edits[0].path != path:
        return False
    paths = {edit.path for edit in edits}
    return all(edit.start <= edit.end for edit in edits) and all(
        _is_open(one, protected, stubs=stubs) for one in paths
    )


def _is_open(path: str, protected: Sequence[str], *, stubs: bool) -> bool:
    hidden = any(part.startswith(".") for part in path.split("/"))
    readable = is_checked_source(path) if stubs else is_source(path)
    known = is_safe_path(path) and readable and not hidden
    return known and not any(fnmatch(path, pattern) for pattern in protected)


def is_template(name: str) -> bool:
    """Return True if a name is a valid template name, or several joined by `+`."""
    return _TEMPLATE.fullmatch(name) is not None


def one_line(text: str, most: int) -> str:
    """Return one line of printable text."""
    return "".join(character if character.isprintable() else " " for character in text[:most])
