"""Types of single values in messages, and the words that models use for them."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from bot.domain.verdict import MAX_THOUGHT_PASSES
from bot.llm.protocol.tidy import first_integer, score, snake, to_text

_YES = frozenset({"true", "yes", "y", "on", "1", "t"})
"""Values that models use for true."""
NO = frozenset({False, "false", "no", "n", "off", "0", "f"})
"""Values that models use for false."""


def _adjustment(value: object) -> object:
    return score(value, low=-1.0)


def _passes(value: object) -> object:
    passes = score(value, low=1.0, high=float(MAX_THOUGHT_PASSES))
    return int(passes) if isinstance(passes, float) else passes


Score = Annotated[float | None, BeforeValidator(score)]
"""Between 0 and 1; None means unknown, 0.0 is a score."""
Adjustment = Annotated[float | None, BeforeValidator(_adjustment)]
"""Between -1 and 1; None means unknown."""
Passes = Annotated[int | None, BeforeValidator(_passes)]
"""Number of thinking passes; None means unknown."""
Line = Annotated[int, BeforeValidator(first_integer), Field(ge=1)]


def read_booleans(payload: Mapping[str, Any], *names: str) -> tuple[bool | None, ...]:
    """Return the booleans of these names; None for a missing or unreadable one.

    Prompts of former versions asked for two booleans where there is one choice now, and models
    may still write them.

    Args:
        payload: The fields as a model writes them.
        names: Names in snake case.
    """
    given = {snake(str(key)): value for key, value in payload.items()}
    words = [to_text(given.get(name)).lower() for name in names]
    return tuple(True if word in _YES else False if word in NO else None for word in words)
