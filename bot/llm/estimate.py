"""How many tokens a text is, without a tokenizer: a safe guess, corrected by what each model counted."""

from collections import defaultdict

CHARACTERS_PER_TOKEN = 3.3
"""Python has 3.4 to 5 and test output 3.4 with common tokenizers: this errs towards too many tokens."""
_LEAST, _MOST = 1.5, 6.0
_WEIGHT = 20_000.0
"""The guess weighs as much as this many characters that were counted."""


class Tokens:
    """A running ratio of characters to tokens for each model. Safe to share between missions of one event loop."""

    def __init__(self) -> None:
        self._characters: defaultdict[str, float] = defaultdict(lambda: _WEIGHT)
        self._tokens: defaultdict[str, float] = defaultdict(lambda: _WEIGHT / CHARACTERS_PER_TOKEN)

    def of(self, model: str, characters: int) -> int:
        """About how many tokens a text is, rounded up.

        Args:
            model: Who will count.
            characters: How long the text is.
        """
        return int(characters / self.ratio(model)) + 1

    def ratio(self, model: str) -> float:
        """Characters in a token of this model."""
        return min(max(self._characters[model] / self._tokens[model], _LEAST), _MOST)

    def learn(self, model: str, characters: int, tokens: int) -> None:
        """What the model counted; nothing is learned where it did not.

        Args:
            model: Who counted.
            characters: How long the text was.
            tokens: How many these were.
        """
        if characters > 0 and tokens > 0:
            self._characters[model] += characters
            self._tokens[model] += tokens
