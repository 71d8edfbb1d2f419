"""Copies of values, as deep as they can be made: a lock or a socket inside an object is shared, the rest is its own."""

from __future__ import annotations

import copy
from typing import Any, Dict, Tuple

MOST_DEPTH = 4


def own_copy(value: Any) -> Any:
    """A copy that can be changed without changing the value.

    Raises:
        Exception: it cannot be copied, whatever its copying raises.
    """
    try:
        return copy.deepcopy(value)
    except Exception:
        return _loosely(value, 0)


def copied_arguments(positional: Tuple[Any, ...], named: Dict[str, Any]) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """Arguments of a call, each its own copy.

    Raises:
        Exception: one of them cannot be copied.
    """
    try:
        return copy.deepcopy((positional, named))
    except Exception:
        return tuple(own_copy(value) for value in positional), {k: own_copy(v) for k, v in named.items()}


def _loosely(value: Any, depth: int) -> Any:
    if isinstance(value, (list, tuple, set)) and type(value) in (list, tuple, set):
        return type(value)(_part(item, depth) for item in value)
    if type(value) is dict:
        return {key: _part(item, depth) for key, item in value.items()}
    if not hasattr(value, "__dict__") or isinstance(value, type):
        raise TypeError("cannot be copied")
    twin = copy.copy(value)
    for name, item in vars(value).items():
        twin.__dict__[name] = _part(item, depth)
    return twin


def _part(value: Any, depth: int) -> Any:
    """A copy of a part, or the part itself."""
    try:
        return copy.deepcopy(value)
    except Exception:
        if depth >= MOST_DEPTH:
            return value
    try:
        return _loosely(value, depth + 1)
    except Exception:
        return value
