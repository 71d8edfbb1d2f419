"""A source file that need not parse: text in, edits out."""

from __future__ import annotations

import ast
from typing import Tuple

from sandbox.guest.search.source.render import SourceFile, TextEdit, splice


class PlainSource(SourceFile):
    """A replacement for `SourceFile` without a syntax tree.

    Args:
        path: Relative to the checkout.
        data: Its bytes.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.newline = "\r\n" if b"\r\n" in data else "\n"
        self.tree = ast.Module(body=[], type_ignores=[])
        self.places = {}

    def render(self, edits: Tuple[TextEdit, ...]) -> bytes:
        """Return the file with these edits."""
        return splice(self.data, edits)
