"""Adjust the order of templates by their past results in this repository."""

import math
from collections.abc import Iterable, Mapping

WEIGHT = 0.25
RECALLED = 0.3
"""Gain of a template that fixed a failure like this one."""
MOST = 0.6
"""Maximum shift of a template's cost; past results are a hint only."""


def template_shifts(
    record: Mapping[str, tuple[float, float]], recalled: Iterable[str] = ()
) -> dict[str, float]:
    """Return the cost shift of each template with past results; negative if it worked.

    Args:
        record: Number of wins, and of wins rejected later, by template.
        recalled: Templates that fixed failures like this one.
    """
    gains: dict[str, float] = {}
    for name, (won, rejected) in sorted(record.items()):
        # Logarithms, because the tenth win says less than the first. Rejections weigh more.
        gain = WEIGHT * (math.log1p(max(0, won)) - 1.5 * math.log1p(max(0, rejected)))
        # A fix with two edits counts for both templates.
        for part in name.split("+"):
            gains[part] = gains.get(part, 0.0) + gain
    for part in {part for name in recalled for part in name.split("+")}:
        gains[part] = gains.get(part, 0.0) + RECALLED
    return {name: round(-max(-MOST, min(MOST, gain)), 4) for name, gain in gains.items()}
