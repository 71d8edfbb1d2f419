"""Splits texts into search words: identifiers are split, numbers and stop words removed."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

WORDS_KEPT = 60
"""Search words of a lesson."""

LONGEST = 40
"""Characters of the longest search word."""

# A longer identifier counts as several, so that the cached ones stay small.
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,119}")
_PATH = re.compile(r"[\w./-]*[\w-]\.[A-Za-z]{1,4}")
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_NOISE = (
    "a an and are as assert at be but by file for from has have if in is it its line"
    " no not of on or py self test tests"
    " than that the then this to was were which with you"
)
_STOP = frozenset(_NOISE.split())


def words_of(texts: Iterable[str], *, limit: int = WORDS_KEPT) -> tuple[str, ...]:
    """Return the distinct words of texts in order; camel case and snake case are split alike."""
    found: dict[str, None] = {}
    for text in texts:
        for identifier in _WORD.findall(text[:4000]):
            found |= _split(identifier)
            if len(found) >= limit:
                return tuple(found)[:limit]
    return tuple(found)


# Recall splits the sentences of up to 150 lessons, which share most of their identifiers. Without
# the cache, this took more time than its queries.
@lru_cache(maxsize=8192)
def _split(identifier: str) -> Mapping[str, None]:
    """Return the search words of an identifier, in order."""
    parts = [part.lower() for piece in identifier.split("_") for part in _HUMP.findall(piece)]
    words = (identifier.lower(), *parts)
    return {word: None for word in words if 1 < len(word) <= LONGEST and word not in _STOP}


def paths_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the texts that are file paths; a test's node id counts as its file."""
    paths = (text.split("::", 1)[0].split(":", 1)[0] for text in texts)
    return frozenset(path for path in paths if _PATH.fullmatch(path))
