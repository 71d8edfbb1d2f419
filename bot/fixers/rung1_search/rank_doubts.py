"""What the search says against a survivor, weighed: reasons never to believe it, and reasons to wonder."""

from collections.abc import Sequence

VETOES = (
    "makes a condition constant",
    "removes a raise",
    "removes an assert",
    "empties a body",
    "swallows exceptions",
    "makes code unreachable",
    "uses a literal of the failing test in a comparison",
    "undoes what the failing tests ask for",
)
"""How a warning begins whose survivor comes after every other, and is never shown without asking."""
SYMPTOMS = (
    "catches what was raised",
    "leaves early with nothing worked out",
    "asks whether an attribute is there",
)
"""How a warning begins whose survivor keeps out of the way of an error; that may be all that is right about it."""


def vetoes(warnings: Sequence[str]) -> int:
    """How many of these are reasons never to believe it."""
    return sum(warning.startswith(VETOES) for warning in warnings)


def doubts(warnings: Sequence[str]) -> int:
    """How many of the others are reasons to wonder."""
    return len(warnings) - vetoes(warnings) - symptoms(warnings)


def symptoms(warnings: Sequence[str]) -> int:
    """How many of these say that an error is kept out of the way of, not that anything else is worked out."""
    return sum(warning.startswith(SYMPTOMS) for warning in warnings)
