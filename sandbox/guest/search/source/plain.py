"""A file of the checkout that need not parse: text in, edits out."""

from __future__ import annotations

import ast
from typing import Tuple

from sandbox.guest.search.source.render import Edit, Source, splice


class PlainSource(Source):
    """Stands in for a Source where there is no tree.

    Args:
        path: Relative to the checkout.
        data: Its bytes, whatever they are.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.newline = "\r\n" if b"\r\n" in data else "\n"
        self.tree = ast.Module(body=[], type_ignores=[])
        self.places = {}

    def render(self, edits: Tuple[Edit, ...]) -> bytes:
        """The file with these edits."""
        return splice(self.data, edits)
