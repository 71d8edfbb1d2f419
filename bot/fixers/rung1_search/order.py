"""Which kinds of candidate to try first: what a template itself costs is moved by what worked here before."""

import math
from collections.abc import Mapping

WEIGHT = 0.25
MOST = 0.6
"""No memory moves a template further than this: what worked there is a hint, not a rule."""


def template_shifts(record: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    """What is added to the cost of every template that has a record; less than nothing for what worked.

    Args:
        record: Per template, how often it won and how often that was rejected later.
    """
    gains: dict[str, float] = {}
    for name, (won, rejected) in sorted(record.items()):
        gain = WEIGHT * (math.log1p(max(0, won)) - 1.5 * math.log1p(max(0, rejected)))
        for part in name.split("+"):
            gains[part] = gains.get(part, 0.0) + gain
    return {name: round(-max(-MOST, min(MOST, gain)), 4) for name, gain in gains.items()}
