"""How much of a prompt each part may fill, in characters of an estimate that is on the safe side."""

from enum import StrEnum
from typing import Self

CHARACTERS_PER_TOKEN = 3.3
"""Measured as a safe estimate for Python and for the output of tests."""
TABLE_TOKENS = 12_000
"""The whole of a prompt that the table of parts was made for; of another size, every part shrinks or grows alike."""
FUNCTION_TOKENS = 480
"""Nine functions out of ten are smaller; a larger one is shown around the suspect lines only."""

_CUT = "\n[... {} characters are not shown ...]\n"
_HEAD = 0.35
"""Of a text that is cut in the middle, this share of what stays is its beginning: ends of output say more."""


class Part(StrEnum):
    """What a prompt is made of, besides the instructions (900 tokens)."""

    FAILING = "failing"
    TESTS = "tests"
    SOURCES = "sources"
    SKELETON = "skeleton"
    DIFF = "diff"
    LESSONS = "lessons"
    ATTEMPTS = "attempts"
    ASKED = "asked"
    """What the model asked to see; comes on top of the table, as an answer to its question."""
    FEEDBACK = "feedback"
    """What became of an earlier answer; comes on top, in a later round."""


_TOKENS = {
    Part.FAILING: 1_800,
    Part.TESTS: 1_200,
    Part.SOURCES: 4_500,
    Part.SKELETON: 600,
    Part.DIFF: 1_800,
    Part.LESSONS: 450,
    Part.ATTEMPTS: 750,
    Part.ASKED: 2_000,
    Part.FEEDBACK: 1_200,
}


class Room:
    """What is left of a part.

    Args:
        characters: That may be written.
    """

    def __init__(self, characters: int) -> None:
        self.left = characters

    @classmethod
    def of(cls, part: Part, context_tokens: int) -> Self:
        """The room of a part in a prompt of this size.

        Args:
            part: Which.
            context_tokens: What a whole prompt may hold.
        """
        return cls(characters(_TOKENS[part] * context_tokens / TABLE_TOKENS))

    def take(self, size: int) -> bool:
        """Whether so many characters fit; they are taken when they do.

        Args:
            size: In characters.
        """
        if size > self.left:
            return False
        self.left -= size
        return True

    def cut(self, text: str, *, parts: int = 1) -> str:
        """A text, cut in its middle to an even share of what is left, and taken.

        Args:
            text: Of any size.
            parts: How many texts share what is left, this one included.
        """
        shown = shortened(text, self.left // max(1, parts))
        self.left -= len(shown)
        return shown


def characters(tokens: float) -> int:
    """How many characters are safely within so many tokens."""
    return int(tokens * CHARACTERS_PER_TOKEN)


def shortened(text: str, size: int) -> str:
    """A text cut in its middle, saying how much is missing.

    Args:
        text: Of any size.
        size: In characters, at most.
    """
    if len(text) <= size:
        return text
    kept = size - len(_CUT) - len(str(len(text)))
    if kept <= 0:
        return ""
    head = int(kept * _HEAD)
    return text[:head] + _CUT.format(len(text) - kept) + text[len(text) - (kept - head) :]
