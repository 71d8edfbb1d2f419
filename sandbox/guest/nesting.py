"""The nesting depth of a text, to keep deeply nested input from a parser."""

from __future__ import annotations


def measure_nesting(text: str) -> int:
    """Return an upper bound of the bracket nesting; brackets in strings count, too."""
    depth = deepest = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth = max(0, depth - 1)
    return deepest
