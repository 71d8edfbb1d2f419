"""Expand the words of a script within a budget: short lines can name long lists very often."""

from collections.abc import Callable, Iterable, Mapping

from sandbox.recipe.shell.words import Expanded, Word, expand

_WORD_STEPS = 60
"""Cost of one expanded word beyond its characters."""

Spend = Callable[[int], bool]
"""Pays for some characters; returns False if no budget is left."""


class ScriptExhausted(Exception):
    """A script has more commands, words or text than are read."""


def expand_all(words: Iterable[Word], variables: Mapping[str, str], spend: Spend) -> list[Expanded]:
    """Substitute variables in words.

    Raises:
        ScriptExhausted: The budget does not allow as much text.
    """
    found: list[Expanded] = []
    for word in words:
        expanded = expand(word, variables)
        if not spend(sum(_WORD_STEPS + len(item.value) for item in expanded)):
            raise ScriptExhausted
        found += expanded
    return found
