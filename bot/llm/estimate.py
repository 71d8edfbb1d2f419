"""Estimate token counts without a tokenizer, corrected by each model's own counts."""

from collections import defaultdict

CHARACTERS_PER_TOKEN = 3.3
"""Common tokenizers have 3.4 to 5 characters per token for Python and 3.4 for test output. This
estimate is on the high side."""
_LEAST, _MOST = 1.5, 6.0
_WEIGHT = 20_000.0
"""Weight of the initial estimate, in counted characters."""


class Tokens:
    """A running ratio of characters to tokens for each model.

    It can be shared between missions of one event loop.
    """

    def __init__(self) -> None:
        self._characters: defaultdict[str, float] = defaultdict(lambda: _WEIGHT)
        self._tokens: defaultdict[str, float] = defaultdict(lambda: _WEIGHT / CHARACTERS_PER_TOKEN)

    def of(self, model: str, characters: int) -> int:
        """Estimate the number of tokens, rounded up.

        Args:
            model: Name of the model.
            characters: Length of the text.
        """
        return int(characters / self.ratio(model)) + 1

    def ratio(self, model: str) -> float:
        """Return the model's estimated characters per token."""
        return min(max(self._characters[model] / self._tokens[model], _LEAST), _MOST)

    def learn(self, model: str, characters: int, tokens: int) -> None:
        """Update the ratio with a model's count; ignored if there is none.

        Args:
            model: Name of the model.
            characters: Length of the text.
            tokens: The model's count.
        """
        if characters > 0 and tokens > 0:
            self._characters[model] += characters
            self._tokens[model] += tokens
