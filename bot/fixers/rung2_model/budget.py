"""Share of the prompt for each part, in characters by a conservative estimate."""

from enum import StrEnum
from typing import Self

CHARACTERS_PER_TOKEN = 3.3
"""Conservative measured estimate for Python and test output."""
TABLE_TOKENS = 12_000
"""Prompt size that the table of parts assumes; other sizes scale all parts alike."""
FILE_TOKENS = 480
"""Files up to this size are shown whole."""
FUNCTION_TOKENS = 1_500
"""Functions up to this size are shown whole. Larger ones, and those without space, are shown only
around the suspect lines. A window hid the faulty line of every tenth function at 480 tokens."""

_CUT = "\n[... {} characters are not shown ...]\n"
_HEAD = 0.35
"""When a text is cut in the middle, this share of the rest comes from its beginning. The end of
output says more."""


class PromptPart(StrEnum):
    """Parts of a prompt besides the instructions (900 tokens)."""

    FAILING = "failing"
    TESTS = "tests"
    SOURCES = "sources"
    SKELETON = "skeleton"
    DIFF = "diff"
    LESSONS = "lessons"
    ATTEMPTS = "attempts"
    DOUBTED = "doubted"
    """Changes of lower rungs that pass; added to the table's total."""
    ASKED = "asked"
    """Files the model asked for; added to the table's total."""
    FEEDBACK = "feedback"
    """Results of earlier answers; added to the table's total in later rounds."""


_TOKENS = {
    PromptPart.FAILING: 1_800,
    PromptPart.TESTS: 1_200,
    PromptPart.SOURCES: 4_500,
    PromptPart.SKELETON: 600,
    PromptPart.DIFF: 1_800,
    PromptPart.LESSONS: 450,
    PromptPart.ATTEMPTS: 750,
    PromptPart.DOUBTED: 900,
    PromptPart.ASKED: 2_000,
    PromptPart.FEEDBACK: 1_200,
}


class PromptSpace:
    """Remaining space of a prompt part.

    Args:
        characters: Its size.
    """

    def __init__(self, characters: int) -> None:
        self.left = characters

    @classmethod
    def of(cls, part: PromptPart, context_tokens: int) -> Self:
        """Return the space of a part in a prompt of this size.

        Args:
            part: The part.
            context_tokens: Size limit of the whole prompt.
        """
        return cls(characters(_TOKENS[part] * context_tokens / TABLE_TOKENS))

    def take(self, size: int) -> bool:
        """Reserve space; return False if there is not enough.

        Args:
            size: In characters.
        """
        if size > self.left:
            return False
        self.left -= size
        return True

    def cut(self, text: str, *, parts: int = 1) -> str:
        """Shorten a text to an even share of the space left, and reserve it.

        Args:
            text: Text of any size.
            parts: Number of texts that share the space, this one included.
        """
        shown = shortened(text, self.left // max(1, parts))
        self.left -= len(shown)
        return shown


def characters(tokens: float) -> int:
    """Return a conservative number of characters for this many tokens."""
    return int(tokens * CHARACTERS_PER_TOKEN)


def shortened(text: str, size: int) -> str:
    """Cut a text in its middle and state how much is missing.

    Args:
        text: Text of any size.
        size: Maximum size in characters.
    """
    if len(text) <= size:
        return text
    # The notice counts towards the size.
    kept = size - len(_CUT) - len(str(len(text)))
    if kept <= 0:
        return ""
    head = int(kept * _HEAD)
    return text[:head] + _CUT.format(len(text) - kept) + text[len(text) - (kept - head) :]
