"""A file as lines with their line ends, so that untouched text keeps every byte."""

import re
from collections.abc import Sequence

from sandbox.types import Frozen

BOM = "\ufeff"
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\u3000", " "),
    }
)
"""Maps single characters, so that offsets are unchanged."""


class Splice(Frozen):
    """Replacement of lines `start` to `end` (from 0, half open)."""

    start: int
    end: int
    lines: tuple[str, ...]
    """Without line ends."""
    block: int = 0


class Text:
    """A file's text, split into lines."""

    def __init__(self, text: str) -> None:
        self.bom = BOM if text.startswith(BOM) else ""
        self._raw: list[str] = _LINE.findall(text[len(self.bom) :])
        self.bodies: tuple[str, ...] = tuple(
            line.removesuffix("\n").removesuffix("\r") for line in self._raw
        )
        """Lines without line ends."""
        crlf = sum(line.endswith("\r\n") for line in self._raw)
        self._usual = "\r\n" if crlf * 2 > sum(line.endswith("\n") for line in self._raw) else "\n"

    @property
    def is_blank(self) -> bool:
        """Return True if there is only white space."""
        return not any(body.strip() for body in self.bodies)

    def spliced(self, splices: Sequence[Splice]) -> str:
        """Return the text with splices applied; they must not overlap."""
        pieces, at = list[str](), 0
        for splice in sorted(splices, key=lambda each: (each.start, each.end)):
            end = self._end_near(splice.start)
            pieces += self._raw[at : splice.start] + [line + end for line in splice.lines]
            at = splice.end
        pieces += self._raw[at:]
        # Only the last line may lack a line end, and only if it did before.
        pieces = [piece if piece.endswith("\n") else piece + self._usual for piece in pieces]
        if pieces and self._raw and not self._raw[-1].endswith("\n"):
            pieces[-1] = pieces[-1].removesuffix("\n").removesuffix("\r")
        return self.bom + "".join(pieces)

    def _end_near(self, index: int) -> str:
        """Return the line end used at a line, or at the one before it."""
        for line in self._raw[index : index + 1] + self._raw[max(index - 1, 0) : index]:
            if line.endswith("\n"):
                return "\r\n" if line.endswith("\r\n") else "\n"
        return self._usual


def plain(text: str) -> str:
    """Replace typographic quotes, dashes and spaces by ASCII; the length is unchanged."""
    return text.translate(_PUNCTUATION)
