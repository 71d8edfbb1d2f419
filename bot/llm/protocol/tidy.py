"""Normalize a model's values for a type: names, lists and words. No value is invented."""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import islice
from math import isfinite
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

TEXT_CAP = 4_000
"""Maximum length of a text, in characters; the rest is dropped."""
LIST_CAP = 50
"""Maximum number of list entries; the rest is dropped."""

_UNKNOWN = frozenset(
    {"", "-", "?", "~", "null", "none", "nil", "n/a", "na", "unknown", "nan", "tbd"}
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\s_-]+")
_PLACE = re.compile(r"<[^<>\n]{1,200}>")
"""An unfilled placeholder of an example."""
_INTEGER = re.compile(r"\d{1,9}")


def normalize(
    kind: type[BaseModel], value: Mapping[Any, Any], renamed: Mapping[str, str] | None = None
) -> dict[str, object]:
    """Normalize a mapping: fields of the type only, snake-case names, converted values.

    Args:
        kind: The type that validates it next.
        value: Strings, lists and mappings.
        renamed: Other names of fields.
    """
    found: dict[str, object] = {}
    for key, entry in value.items():
        snake_key = snake(str(key))
        name = (renamed or {}).get(snake_key, snake_key)
        field = kind.model_fields.get(name)
        if field is not None and name not in found and not _is_missing(entry):
            found[name] = _fit(field.annotation, entry)
    return found


def snake(name: str) -> str:
    """Convert `shouldContinue`, `Should continue` and `should-continue` to `should_continue`."""
    return _SEPARATORS.sub("_", _CAMEL.sub("_", name[:100].strip())).lower()


def score(value: object, *, low: float = 0.0, high: float = 1.0) -> object:
    """Parse a score and clamp it; words for unknown become None, 0.0 is a score.

    Args:
        value: `0.8`, `80%` or `8/10`; other values are left for the validator to reject.
        low: Minimum.
        high: Maximum.
    """
    if value is None or isinstance(value, int | float):
        number = value
    else:
        text = str(value).strip().lower()[:40]
        if text in _UNKNOWN:
            return None
        try:
            number = _number(text)
        except (ValueError, ZeroDivisionError):
            return value
    if number is None or not isfinite(number):
        return None
    return min(high, max(low, float(number)))


def first_integer(value: object) -> object:
    """Return the first integer in a text: 12 for `12-15`."""
    found = _INTEGER.search(value) if isinstance(value, str) else None
    return int(found.group()) if found else value


def to_text(value: object) -> str:
    """Convert any value to a bounded text."""
    if isinstance(value, Mapping):
        parts = (f"{key}: {to_text(entry)}" for key, entry in islice(value.items(), LIST_CAP))
        return "\n".join(parts)[:TEXT_CAP]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "\n".join(to_text(entry) for entry in value[:LIST_CAP])[:TEXT_CAP]
    return "" if value is None else str(value).strip()[:TEXT_CAP]


def _number(text: str) -> float:
    if text.endswith("%"):
        return float(text[:-1]) / 100
    above, slash, below = text.partition("/")
    return float(above) / float(below) if slash else float(text)


def _fit(annotation: Any, value: object) -> object:
    """Convert a value to the shape of an annotation, if possible."""
    origin = get_origin(annotation)
    if origin in {Union, UnionType}:
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return _fit(kinds[0], value) if len(kinds) == 1 else value
    if origin is Literal:
        return _choose([str(choice) for choice in get_args(annotation)], value)
    if origin is tuple:
        return [_fit(get_args(annotation)[0], entry) for entry in _entries(value)]
    if origin is dict:
        entries = islice(value.items(), LIST_CAP) if isinstance(value, Mapping) else ()
        return {str(key)[:100]: to_text(entry) for key, entry in entries}
    return _plain(annotation, value)


def _plain(annotation: Any, value: object) -> object:
    if annotation is str:
        return to_text(value)
    if annotation is bool and isinstance(value, str):
        return value.strip().lower()
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return normalize(annotation, value) if isinstance(value, Mapping) else value
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _choose([str(choice.value) for choice in annotation], value)
    return value


def _choose(choices: Sequence[str], value: object) -> object:
    """Return the matching choice, ignoring case and separators."""
    meant = snake(str(value))
    return next((choice for choice in choices if snake(choice) == meant), value)


def _entries(value: object) -> Sequence[object]:
    """Convert a value to a list; a single entry becomes a list of one."""
    if isinstance(value, str):
        return () if value.strip().lower() in _UNKNOWN else (value,)
    if isinstance(value, Mapping):
        return (value,)
    return (
        [entry for entry in value if not _is_missing(entry)][:LIST_CAP]
        if isinstance(value, Sequence)
        else ()
    )


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, str) and _PLACE.fullmatch(value.strip()) is not None)
