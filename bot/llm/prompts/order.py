"""Another order of the parts of a prompt, for answers that should be independent."""

from collections.abc import Sequence
from typing import TypeVar

Part = TypeVar("Part")


def rotate(parts: Sequence[Part], order: int) -> tuple[Part, ...]:
    """Return the parts in another order.

    Args:
        parts: The parts in their usual order.
        order: Number of the order; 0 is the usual one, and any other differs from it if it can.
    """
    if not order or len(parts) < 2:  # noqa: PLR2004 (one part has one order)
        return tuple(parts)
    first = 1 + (order - 1) % (len(parts) - 1)
    return (*parts[first:], *parts[:first])
