"""Find the missing part that a message names, by a table of patterns. Pure."""

import re
from collections.abc import Callable, Mapping

Signs = tuple[tuple[str, re.Pattern[str]], ...]
"""Words with a place for the part's name, and the pattern of their messages."""


def compile_signs(patterns: Mapping[str, str]) -> Signs:
    """Return the patterns of messages by meaning, compiled."""
    return tuple((words, re.compile(pattern)) for words, pattern in patterns.items())


def describe_part(text: str, signs: Signs, shorten: Callable[[str], str] = str) -> str | None:
    """Return the words of the first sign in a text, with the part's name; None without one."""
    for words, sign in signs:
        if found := sign.search(text):
            return words.format(shorten(next((group for group in found.groups() if group), "")))
    return None
