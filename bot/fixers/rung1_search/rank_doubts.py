"""Classify the search's warnings about a survivor: vetoes, symptoms and doubts."""

from collections.abc import Sequence

VETOES = (
    "makes a condition constant",
    "removes a raise",
    "removes an assert",
    "empties a body",
    "swallows exceptions",
    "makes code unreachable",
    "uses a literal of the failing test in a comparison",
    "reverts what the failing tests require",
)
"""Prefixes of warnings that rank a survivor last. It is never shown without asking a person."""
SYMPTOMS = (
    "catches an exception that was raised",
    "returns early without a result",
    "tests for an attribute",
)
"""Prefixes of warnings about survivors that avoid an error instead of computing a result. That may
be all that is right about them."""

ORACLES = ("changes what the tests check with",)
"""Prefixes of warnings about survivors that may pass because the tests check less. They keep their
rank, because such code has bugs, too, but a person is asked."""


def vetoes(warnings: Sequence[str]) -> int:
    """Return the number of vetoes."""
    return sum(warning.startswith(VETOES) for warning in warnings)


def doubts(warnings: Sequence[str]) -> int:
    """Return the number of warnings that are no vetoes, symptoms or about oracles."""
    known = vetoes(warnings) + symptoms(warnings)
    return len(warnings) - known - sum(is_about_oracle(warning) for warning in warnings)


def symptoms(warnings: Sequence[str]) -> int:
    """Return the number of warnings about avoiding an error instead of computing a result."""
    return sum(warning.startswith(SYMPTOMS) for warning in warnings)


def is_about_oracle(warning: str) -> bool:
    """Return True if a warning says that the tests check with the edited code."""
    return warning.startswith(ORACLES)
