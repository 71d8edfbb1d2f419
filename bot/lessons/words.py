"""Splits texts into search words: identifiers are split, numbers and stop words removed."""

import re
from collections.abc import Iterable

WORDS_KEPT = 60
"""Search words of a lesson."""

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
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
            parts = [
                part.lower() for piece in identifier.split("_") for part in _HUMP.findall(piece)
            ]
            for word in (identifier.lower(), *parts):
                if 1 < len(word) <= 40 and word not in _STOP:  # noqa: PLR2004
                    found.setdefault(word)
            if len(found) >= limit:
                return tuple(found)[:limit]
    return tuple(found)


def paths_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the texts that are file paths; a test's node id counts as its file."""
    paths = (text.split("::", 1)[0].split(":", 1)[0] for text in texts)
    return frozenset(path for path in paths if re.fullmatch(r"[\w./-]*[\w-]\.[A-Za-z]{1,4}", path))
