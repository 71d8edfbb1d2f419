"""The functions of GitHub's expression language."""

import re
from collections.abc import Callable, Sequence

from sandbox.recipe.actions.values import (
    Unknown,
    Value,
    as_text,
    combine_unknown,
    equal,
    from_json,
    has_unknown,
    to_json,
)

_MOST_CHARACTERS = 100_000


def call(name: str, arguments: Sequence[Value]) -> Value:
    """Evaluate a function.

    The result is unknown if an argument is, or if only the runner knows it.
    """
    status: dict[str, Value] = {
        "success": True,
        "always": True,
        "failure": False,
        "cancelled": False,
    }
    if name in status:
        # all steps before the failed one succeeded, and the failed one was reached
        return status[name]
    if name == "hashfiles":
        return Unknown(("hashFiles()",))
    function = _FUNCTIONS.get(name)
    if function is None:
        return Unknown((f"{name[:50]}()",))
    unknown = [found for argument in arguments if (found := has_unknown(argument))]
    if unknown:
        return combine_unknown(*unknown)
    try:
        return function(*arguments)
    except TypeError:  # wrong number of arguments
        return Unknown((f"{name}()",))


def _contains(where: Value, what: Value) -> Value:
    if isinstance(where, list):
        return any(equal(item, what) for item in where)
    return as_text(what).lower() in as_text(where).lower()


def _starts(where: Value, what: Value) -> Value:
    return as_text(where).lower().startswith(as_text(what).lower())


def _ends(where: Value, what: Value) -> Value:
    return as_text(where).lower().endswith(as_text(what).lower())


def _format(pattern: Value, *values: Value) -> Value:
    pieces: list[str] = []
    for piece in re.split(r"(\{\{|\}\}|\{\d{1,3}\})", as_text(pattern)):
        if piece in {"{{", "}}"}:
            pieces.append(piece[0])
        elif found := re.fullmatch(r"\{(\d+)\}", piece):
            pieces.append(as_text(values[int(found[1])]) if int(found[1]) < len(values) else "")
        else:
            pieces.append(piece)
    return _bound(pieces)


def _join(values: Value, separator: Value = ",") -> Value:
    items = values if isinstance(values, list) else [values]
    between = as_text(separator)
    return _bound(
        [
            part
            for index, item in enumerate(items)
            for part in (between * bool(index), as_text(item))
        ]
    )


def _bound(pieces: list[str]) -> str:
    """Join the pieces to one text of limited length."""
    kept, left = [], _MOST_CHARACTERS
    for piece in pieces:
        kept.append(piece[:left])
        left -= len(piece)
        if left <= 0:
            break
    return "".join(kept)


def _case(*parts: Value) -> Value:
    for index in range(0, len(parts) - 1, 2):
        if parts[index] is True:
            return parts[index + 1]
    return parts[-1] if len(parts) % 2 else None


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "contains": _contains,
    "startswith": _starts,
    "endswith": _ends,
    "format": _format,
    "join": _join,
    "tojson": to_json,
    "fromjson": from_json,
    "case": _case,
}
