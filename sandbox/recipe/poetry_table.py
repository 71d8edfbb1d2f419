"""Convert Poetry's dependency tables to requirement lines."""

import re
from collections.abc import Mapping
from typing import Any

from sandbox.recipe.files import mapping, section, words

_LONGEST_VERSION = 600
"""Characters of a requirement; a longer one is dropped."""
_MARKER_KEYS = (
    *("sys_platform", "os_name", "platform_system", "platform_machine"),
    *("platform_python_implementation", "implementation_name"),
    *("python_version", "python_full_version"),
)
_ALL_OF = re.compile(r"(?<=[\w*]) +(?=[<>=!~^])")
"""Blanks between two bounds that both apply: `>=1 <2`."""
_PLATFORM = re.compile(r"\s*(==|!=)?\s*([\w-]{1,40})\s*")


def poetry_lines(table: Mapping[str, Any], optional: frozenset[str] = frozenset()) -> list[str]:
    """Convert a table of dependencies. Carets and tildes become lower and upper bounds.

    Args:
        table: Name to version or details.
        optional: Optional names to include (of an extra).
    """
    lines = []
    for name, value in list(table.items())[:500]:
        if name.lower() == "python":
            continue
        for details in _choices(value):
            if details.get("optional") is True and name not in optional:
                continue
            lines.append(_line(name, details))
    return lines


def poetry_paths(table: Mapping[str, Any]) -> list[str]:
    """Return the folders of path dependencies."""
    found = (mapping(value).get("path") for value in list(table.values())[:500])
    return [path for path in found if isinstance(path, str)]


def poetry_extras(poetry: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the requirement lines of each extra."""
    table = section(poetry, "dependencies")
    found: dict[str, list[str]] = {}
    for extra, names in list(section(poetry, "extras").items())[:50]:
        asked = frozenset(words(names))
        found[extra] = poetry_lines(
            {name: table[name] for name in words(names) if name in table}, asked
        )
    return found


def _choices(value: object) -> list[Mapping[str, Any]]:
    """Return the details of a dependency; a list has one entry for each Python or platform."""
    if isinstance(value, list):
        return [mapping(item) for item in value[:10] if isinstance(item, dict)]
    return [value if isinstance(value, dict) else {"version": value}]


def _line(name: str, details: Mapping[str, Any]) -> str:
    version = details.get("version")
    extras = ",".join(words(details.get("extras")))
    if not isinstance(version, str):
        where = next(
            (f"{key}+{details[key]}" for key in ("git", "url") if key in details), "elsewhere"
        )
        return f"{name} @ {where}".replace("url+", "") if "path" not in details else ""
    marker = details.get("markers")
    python = details.get("python")
    marks = [marker] if isinstance(marker, str) else []
    marks += _platform_marks(details)
    if isinstance(python, str):
        marks += [f"python_version {op} '{number}'" for op, number in _python_marks(python)]
    tail = (
        f" ; {' and '.join(f'({mark})' if ' or ' in mark else mark for mark in marks)}"
        if marks
        else ""
    )
    return (
        f"{name}[{extras}]{poetry_bound(version)}{tail}"
        if extras
        else f"{name}{poetry_bound(version)}{tail}"
    )


def _platform_marks(details: Mapping[str, Any]) -> list[str]:
    """Return `platform = "win32"` of Poetry and `sys_platform = "== 'win32'"` of a Pipfile."""
    marks = [f"{key} {details[key]}" for key in _MARKER_KEYS if isinstance(details.get(key), str)]
    platform = details.get("platform")
    found = _PLATFORM.fullmatch(platform) if isinstance(platform, str) else None
    return marks if found is None else [*marks, f"sys_platform {found[1] or '=='} '{found[2]}'"]


def _python_marks(python: str) -> list[tuple[str, str]]:
    bounds = poetry_bound(python[:100]).split(",")
    found = [re.fullmatch(r"(>=|<=|==|!=|<|>)(\d+(?:\.\d+){0,2})", bound) for bound in bounds]
    return [(match[1], match[2]) for match in found if match is not None]


def poetry_bound(version: str) -> str:
    """Convert `^1.2` to `>=1.2,<2`; of alternatives (`||`) take the last."""
    if len(version) > _LONGEST_VERSION:
        return version
    parts = []
    for part in _ALL_OF.sub(",", version.rpartition("||")[2]).replace(" ", "").split(","):
        found = re.fullmatch(r"([\^~]?)(\d+(?:\.\d+)*)([A-Za-z0-9.]*)", part)
        if part == "*":
            continue
        if found is None:
            parts.append(f"=={part}" if re.fullmatch(r"\d+(?:\.\d+)*\.\*", part) else part)
            continue
        kind, numbers = found[1], [int(number[:9]) for number in found[2].split(".")]
        if not kind:
            parts.append(f"=={part}")
            continue
        # ^1.2.3 allows up to the next first non-zero number, ~1.2.3 up to the next minor
        fixed = (
            next((i for i, n in enumerate(numbers) if n), len(numbers) - 1)
            if kind == "^"
            else min(1, len(numbers) - 1)
        )
        upper = [*numbers[:fixed], numbers[fixed] + 1]
        parts.append(f">={found[2]}{found[3]},<{'.'.join(map(str, upper))}")
    return ",".join(parts)
