"""Which kinds of candidate to try first: what a template costs, adjusted by what worked here before."""

import math
from collections.abc import Mapping

PRIORS: Mapping[str, float] = {
    "add_condition": 2.5,
    "add_return": 2.0,
    "augmented_assignment": 2.0,
    "boolean_logic": 1.0,
    "borrow_expression": 2.6,
    "borrow_statement": 2.2,
    "change_literal": 1.0,
    "change_name": 1.3,
    "change_term": 2.4,
    "guard_none": 3.4,
    "move_statement": 1.8,
    "negate_condition": 1.3,
    "off_by_one": 1.4,
    "rename_attribute": 1.2,
    "slice_index": 2.0,
    "swap_arguments": 1.3,
    "swap_comparison": 1.0,
    "swap_operands": 1.5,
    "swap_operator": 1.2,
    "wrap_call": 1.8,
}
"""Each template's own cost, lower is tried first; the templates say the same of themselves."""
WEIGHT = 0.25
MOST = 0.6
"""No memory moves a template further than this: what worked there is a hint, not a rule."""


def template_costs(record: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    """The cost of every template that has a record.

    Args:
        record: Per template, how often it won and how often that was rejected later.
    """
    moved: dict[str, float] = {}
    for name, (won, rejected) in sorted(record.items()):
        for part in name.split("+"):
            if part in PRIORS:
                gain = math.log1p(max(0, won)) - 1.5 * math.log1p(max(0, rejected))
                moved[part] = moved.get(part, 0.0) + WEIGHT * gain
    return {name: round(PRIORS[name] - max(-MOST, min(MOST, gain)), 4) for name, gain in moved.items()}
