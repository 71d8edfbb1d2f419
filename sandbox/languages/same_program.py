"""Prove that two texts of a source file differ in layout only.

A formatter may then edit a test, because the test still does what it did. A text that cannot be
parsed without an error proves nothing. The parsers are loaded when the first such file is met.
"""

import posixpath
from typing import Any

from sandbox.languages import GO, JAVASCRIPT, RUST, TYPESCRIPT, find_language

_DATA = frozenset({"testdata", "test_data", "__fixtures__", "__testfixtures__"})
"""Folders whose files are often read as text."""
_PROVED = frozenset({JAVASCRIPT, TYPESCRIPT, GO, RUST})


def can_prove(path: str) -> bool:
    """Return True if there is a proof for files with such a name."""
    folders = posixpath.dirname(path).lower().split("/")
    return find_language(path) in _PROVED and _DATA.isdisjoint(folders)


def same_source(path: str, old: str, new: str) -> bool:
    """Return True if two texts of a file are provably the same program.

    Args:
        path: Its path, which names its language.
        old: The text before; hostile.
        new: The text after; hostile.
    """
    if not can_prove(path):
        return False
    before = _read_form(path, old)
    return before is not None and before == _read_form(path, new)


def _read_form(path: str, text: str) -> Any:
    """Return the normal form of a text; None if it cannot be read."""
    from sandbox.languages import go_form, javascript_form, rust_form

    language = find_language(path)
    if language == GO:
        return go_form.read_form(path, text)
    if language == RUST:
        return rust_form.read_form(path, text)
    return javascript_form.read_form(path, text)
