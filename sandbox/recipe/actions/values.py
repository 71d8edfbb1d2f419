"""Values of expressions, including unknown ones: values that only GitHub knows, by name."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.recipe.document import number_text

_NUMBER = re.compile(r"[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d{1,3})?")
_WHOLE = re.compile(r"0x[0-9a-fA-F]{1,15}|0o[0-7]{1,18}")


@dataclass(frozen=True)
class Unknown:
    """A value that only GitHub knows."""

    names: tuple[str, ...]
    """The names it depends on, such as `secrets.TOKEN`."""
    truth: bool | None = None
    """Its truth value, if that is known."""


class Partly(dict[str, Any]):
    """A mapping with unknown keys: a missing key is unknown, not null."""


Value = None | bool | int | float | str | list[Any] | dict[str, Any] | Unknown
Context = Mapping[str, Value]


def combine_unknown(*values: Value, truth: bool | None = None) -> Unknown:
    """Combine several unknown values."""
    names = dict.fromkeys(
        name for value in values if isinstance(value, Unknown) for name in value.names
    )
    return Unknown(tuple(names)[:20], truth)


def is_true(value: Value) -> bool | None:
    """Return the truth value in a condition; None if only GitHub knows it."""
    if isinstance(value, Unknown):
        return value.truth
    if isinstance(value, float) and math.isnan(value):
        return False
    return value not in (None, False, 0, "") or isinstance(value, list | dict)


def as_text(value: Value) -> str:
    """Convert a value to text; lists and mappings have no text."""
    if value is None or isinstance(value, Unknown):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(float(value)) if isinstance(value, float) else str(value)
    if isinstance(value, str):
        return value
    return "Array" if isinstance(value, list) else "Object"


def as_number(value: Value) -> float:
    """Convert a value to a number, to compare it with another type."""
    if value is None:
        return 0.0
    if isinstance(value, bool | int | float):
        return float(value)
    if not isinstance(value, str):
        return math.nan
    plain = value.strip()
    if not plain:
        return 0.0
    if _WHOLE.fullmatch(plain):
        return float(int(plain, 0))
    is_number = len(plain) < 400 and _NUMBER.fullmatch(plain)  # noqa: PLR2004
    return float(plain) if is_number else math.nan


def equal(left: Value, right: Value) -> bool:
    """Compare loosely: text without case, other types as numbers, lists by identity."""
    if isinstance(left, str) and isinstance(right, str):
        return left.lower() == right.lower()
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return left is right
    if left is None and right is None:
        return True
    return as_number(left) == as_number(right)


def less(left: Value, right: Value) -> bool:
    """Return True if left is less than right; values that are not numbers are unordered."""
    if isinstance(left, str) and isinstance(right, str):
        return left.lower() < right.lower()
    return as_number(left) < as_number(right)


def same_kind(left: Value, right: Value) -> bool:
    """Return True if `<=` may hold by equality."""
    return not isinstance(left, list | dict | Unknown) and not isinstance(
        right, list | dict | Unknown
    )


def has_unknown(value: Value, depth: int = 0) -> Unknown | None:
    """Return the unknown value inside a nested value."""
    if isinstance(value, Unknown):
        return value
    inner = (
        value
        if isinstance(value, list)
        else list(value.values())
        if isinstance(value, dict)
        else []
    )
    if depth >= 20:  # noqa: PLR2004
        return None
    found = [part for item in inner[:1000] if (part := has_unknown(item, depth + 1))]
    return combine_unknown(*found) if found else None


def to_json(value: Value) -> Value:
    """Convert to JSON text."""
    unknown = has_unknown(value)
    if unknown is not None:
        return unknown
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)[:100_000]
    except (ValueError, TypeError, RecursionError):
        return Unknown(("toJSON",))


def from_json(value: Value) -> Value:
    """Parse JSON text; malformed text gives an unknown value."""
    if isinstance(value, Unknown):
        return value
    try:
        found: Value = json.loads(as_text(value), parse_int=_json_int)
    except (ValueError, RecursionError):
        return Unknown(("fromJSON of what is no JSON",))
    return found


def _json_int(digits: str) -> int | float:
    return int(digits) if len(digits) < 18 else float(digits[:300])  # noqa: PLR2004
