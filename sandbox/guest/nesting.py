"""How deep a text nests: what a parser is not given when it is too much."""

from __future__ import annotations


def nesting_of(text: str) -> int:
    """How deep brackets are nested at most; strings are not told apart: an upper bound."""
    depth = deepest = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth = max(0, depth - 1)
    return deepest
