"""Deep copies as far as possible; a part that cannot be copied, such as a lock, is shared."""

from __future__ import annotations

import copy
from typing import Any, Dict, Tuple

MOST_DEPTH = 4


def own_copy(value: Any) -> Any:
    """Return a copy that can be changed without changing the value.

    Raises:
        Exception: It cannot be copied. Copying runs the value's own methods, so any type is
            possible.
    """
    try:
        return copy.deepcopy(value)
    except Exception:
        return _loosely(value, 0)


def copied_arguments(
    positional: Tuple[Any, ...], named: Dict[str, Any]
) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """Return copies of the arguments of a call.

    Raises:
        Exception: One of them cannot be copied.
    """
    try:
        return copy.deepcopy((positional, named))
    except Exception:
        return tuple(own_copy(value) for value in positional), {
            k: own_copy(v) for k, v in named.items()
        }


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
    """Return a copy of a part, or the part itself."""
    try:
        return copy.deepcopy(value)
    except Exception:
        if depth >= MOST_DEPTH:
            return value
    try:
        return _loosely(value, depth + 1)
    except Exception:
        return value
