"""metaagent settings: list every setting with default, unit and meaning."""

import re
from collections.abc import Sequence
from typing import Any

from bot.errors import UsageError
from bot.settings import Settings, leaves
from bot.tables import Leaf

_UNITS = (
    (r"_s$|seconds", "seconds"),
    (r"bytes", "bytes"),
    (r"usd", "US dollars"),
    (r"days$", "days"),
    (r"tokens", "tokens"),
)
"""The unit of a number, by the name of its setting."""
_MASKED = "********"


def list_settings(settings: Settings, word: str = "") -> list[dict[str, Any]]:
    """Return a row for each setting.

    Args:
        settings: The settings in use here.
        word: Only settings with this text in their key or description.

    Raises:
        UsageError: no setting has the word.
    """
    found = [leaf for leaf in leaves() if word.lower() in f"{leaf.key} {leaf.description}".lower()]
    if not found:
        advice = "run metaagent settings without a word to list all"
        raise UsageError(f"no setting has {word!a} in its name or description", advice)
    return [_row(leaf, settings) for leaf in found]


def _row(leaf: Leaf, settings: Settings) -> dict[str, Any]:
    value: Any = settings
    for name in leaf.path:
        value = getattr(value, name)
    text = "" if value is None else _MASKED if leaf.is_secret else str(value)
    return {
        "name": leaf.key,
        "variable": leaf.variable,
        "default": leaf.default,
        "value": text,
        "unit": _unit(leaf),
        "secret": leaf.is_secret,
        "description": " ".join(leaf.description.split()),
    }


def _unit(leaf: Leaf) -> str:
    """Return the unit of a number, or the values that a choice allows."""
    choices = re.findall(r"'([^']*)'", leaf.kind)
    if choices:
        return " or ".join(choices)
    if leaf.kind == "bool":
        return "true or false"
    if not re.search(r"int|float", leaf.kind):
        return ""
    return next((unit for name, unit in _UNITS if re.search(name, leaf.path[-1])), "")


def settings_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows for a terminal: name, default and unit, and the meaning below."""
    lines = []
    for row in rows:
        unit = f" [{row['unit']}]" if row["unit"] else ""
        default = f" = {row['default']}" if row["default"] else ""
        changed = f"  (here: {row['value']})" if row["value"] not in {row["default"], ""} else ""
        lines += [f"{row['name']}{default}{unit}{changed}", f"    {row['description']}"]
    return "\n".join(lines)
