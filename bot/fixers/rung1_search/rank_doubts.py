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


def vetoes(warnings: Sequence[str]) -> int:
    """How many of these are reasons never to believe it."""
    return sum(warning.startswith(VETOES) for warning in warnings)


def doubts(warnings: Sequence[str]) -> int:
    """How many of these are reasons to wonder."""
    return len(warnings) - vetoes(warnings)
