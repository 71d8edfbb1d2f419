"""Which kinds of candidate to try first: what a template costs, adjusted by what worked here before."""

import math
from collections.abc import Mapping

PRIORS: Mapping[str, float] = {
    "add_attribute": 2.0,
    "add_condition": 2.5,
    "add_keyword": 1.9,
    "add_return": 2.0,
    "augmented_assignment": 2.0,
    "await_call": 1.5,
    "boolean_logic": 1.0,
    "borrow_expression": 2.6,
    "borrow_from_file": 2.6,
    "borrow_statement": 2.2,
    "branch_kind": 1.9,
    "change_global": 1.6,
    "change_in_text": 1.5,
    "change_literal": 1.0,
    "change_name": 1.3,
    "change_term": 2.4,
    "clamp": 2.7,
    "comprehension_parts": 2.2,
    "default_value": 2.4,
    "dict_access": 1.8,
    "everywhere": 2.2,
    "exception_handling": 2.4,
    "exception_type": 1.7,
    "format_text": 1.6,
    "guard_none": 3.4,
    "guard_raise": 3.0,
    "isinstance_type": 1.7,
    "loop_control": 1.7,
    "make_collection": 1.9,
    "move_statement": 1.8,
    "negate_condition": 1.3,
    "none_check": 1.6,
    "off_by_one": 1.4,
    "quoting": 1.8,
    "regular_expression": 1.0,
    "rename_attribute": 1.2,
    "self_attribute": 1.6,
    "slice_index": 2.0,
    "small_expression": 3.0,
    "swap_arguments": 1.3,
    "swap_comparison": 1.0,
    "swap_operands": 1.4,
    "swap_operator": 1.2,
    "wrap_call": 1.8,
    "yield_return": 1.8,
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
