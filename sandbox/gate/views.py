"""Decoded views of a text: escapes decoded, separators dropped, each character with its origin."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

_ESCAPES = re.compile(
    r"\\u\{0{0,6}([0-9a-fA-F]{1,6})\}"
    r"|\\U00([0-9a-fA-F]{6})"
    r"|\\u([0-9a-fA-F]{4})"
    r"|\\x([0-9a-fA-F]{2})"
    r"|%u00([0-9a-fA-F]{2})"
    r"|[%=]([0-9a-fA-F]{2})"
    r"|&#[xX]0{0,6}([0-9a-fA-F]{1,6});?"
    r"|\b0[xX]([0-9a-fA-F]{2})(?![0-9a-fA-F])"
    r"|\\0?([0-3][0-7]{2})"
    r"|&#0{0,6}([0-9]{1,7});?"
)
_OCTAL, _DECIMAL = 9, 10
_WORDS = re.compile(r"[A-Za-z0-9]+")
_WIDE = re.compile(r"[^\x00-\x7f]")
_LINE_MARKS = re.compile(r"(?m)^(?:E {1,4}|[+>|#] ?| {0,8}[0-9a-f]{8}:? )|(?<=  )\|")
_MOST = 0x10FFFF


class TextView(NamedTuple):
    """One view of a text.

    Attributes:
        text: The text of the view.
        starts: Start of each piece in the view.
        origins: Start of each piece in the original.
        lengths: Length of each piece in the original.
    """

    text: str
    starts: list[int]
    origins: list[int]
    lengths: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original for a span of the view."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        begin = self.origins[first] + min(start - self.starts[first], self.lengths[first] - 1)
        stop = self.origins[last] + self.lengths[last]
        width = (
            self.starts[last + 1] if last + 1 < len(self.starts) else len(self.text)
        ) - self.starts[last]
        if width == self.lengths[last]:
            stop = self.origins[last] + end - self.starts[last]
        return begin, stop


def views(text: str) -> Iterator[TextView]:
    """Yield each view, letters and digits in lower case: plain, without line marks, and decoded."""
    yield squeeze(text, [])
    marks = [(found.start(), found.end(), "") for found in _LINE_MARKS.finditer(text)]
    if marks:
        yield squeeze(text, marks)
    escapes = [change for change in map(_decode, _ESCAPES.finditer(text)) if change is not None]
    if escapes or not text.isascii():
        wide = [
            (found.start(), found.end(), _normalize(found.group()))
            for found in _WIDE.finditer(text)
        ]
        yield squeeze(text, sorted(escapes + wide))


def squeeze(text: str, changes: list[tuple[int, int, str]]) -> TextView:
    """Return the letters and digits of a text, with some places replaced.

    Args:
        text: The original.
        changes: Places that do not overlap, in order, with their replacements.
    """
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    lengths: list[int] = []
    length = at = 0
    for start, end, replacement in [*changes, (len(text), len(text), "")]:
        for word in _WORDS.finditer(text, at, start):
            pieces.append(word.group())
            starts.append(length)
            origins.append(word.start())
            lengths.append(len(pieces[-1]))
            length += lengths[-1]
        if replacement.isascii() and replacement.isalnum():
            pieces.append(replacement)
            starts.append(length)
            origins.append(start)
            lengths.append(end - start)
            length += len(replacement)
        at = end
    return TextView("".join(pieces).lower(), starts, origins, lengths)


def _decode(found: re.Match[str]) -> tuple[int, int, str] | None:
    kind = found.lastindex or 0
    code = int(found[kind], {_OCTAL: 8, _DECIMAL: 10}.get(kind, 16))
    return (found.start(), found.end(), chr(code)) if code <= _MOST else None


def _normalize(character: str) -> str:
    """Normalize full-width, mathematical and circled letters."""
    return unicodedata.normalize("NFKC", character)
