"""Parse the requested Python: `3.11`, `3.x`, `>=3.9,<3.12`, `pypy3.9`, a version file."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from sandbox.recipe.files import file_text, named_version

_PLAIN = re.compile(r"(?:python-?)?v?(3)\.(\d{1,2})(?:\.\d+)?(?:[abrc]+\d*)?(?:-dev|t)?")
_OTHER = re.compile(r"(?:pypy|graalpy|jython)-?v?(3)\.(\d{1,2})(?:[-.]?v?[\w.]*)?", re.IGNORECASE)
_BOUND = re.compile(
    r"(>=|<=|==|!=|~=|===|<|>|\^|~|=)?\s*v?(\d+)(?:\.(\d+|x|\*))?(?:\.(?:\d+|x"
    r"|\*))?(?:-\w+(?:\.\d+)?)?"
)
_RANGE = re.compile(r"\s*3\.(\d{1,2})(?:\.[\dx]+)?\s+-\s+3\.(\d{1,2})(?:\.[\dx]+)?\s*")
_USUAL = 11
USUAL = f"3.{_USUAL}"
"""The Python of the toolchain image, used if none is requested."""
_NEWEST = 14
_OLDEST = 6
_MOST_LINES = 20
_MOST_CHARACTERS = 200


def read_version(words: object) -> str | None:
    """Return the CPython version in a value, as `3.11`; None for any or none.

    Of several lines the last counts, as in setup-python. A range that includes the usual Python
    counts as any.
    """
    if isinstance(words, float | int):
        words = str(words)
    if not isinstance(words, str):
        return None
    lines = [line.split("#")[0].strip() for line in words.splitlines()[:_MOST_LINES]]
    found = [version for line in lines if line and (version := _version(line[:_MOST_CHARACTERS]))]
    return found[-1] if found else None


def is_other_python(words: str) -> bool:
    """Return True for PyPy, GraalPy and free-threaded builds."""
    return bool(
        _OTHER.fullmatch(words.strip()) or re.fullmatch(r"3\.\d{1,2}t(?:-dev)?", words.strip())
    )


def is_python2(words: str) -> bool:
    """Return True for Python 2."""
    return re.fullmatch(r"(?:python-?|pypy-?)?2(?:\.[\d.x]+)?", words.strip()) is not None


def version_in_file(path: str, contents: Mapping[str, bytes]) -> str | None:
    """Return the version in `.python-version`, `.tool-versions`, `pyproject.toml` or `Pipfile`."""
    if path.rsplit("/", 1)[-1] in {"pyproject.toml", "Pipfile"}:
        return read_version(_find_in_toml(file_text(path, contents)))
    return read_version(named_version(path, contents, "python").removeprefix("cpython-"))


def _version(line: str) -> str | None:
    plain = _PLAIN.fullmatch(line) or _OTHER.fullmatch(line)
    if plain is not None:
        # YAML parses an unquoted 3.10 as 3.1
        return f"{plain[1]}.{'10' if plain[2] == '1' else int(plain[2])}"
    if span := _RANGE.fullmatch(line):
        return f"3.{int(span[2])}"
    return _from_range(line)


def _from_range(line: str) -> str | None:
    allowed = set(range(_OLDEST, _NEWEST + 1))
    parts = [
        part
        for part in re.split(r"[,\s]+(?![\d])|,", re.sub(r"([<>=~^!])\s+", r"\1", line))
        if part.strip()
    ]
    for part in parts:
        bound = _BOUND.fullmatch(part.strip())
        if bound is None or bound[2] != "3":
            if bound is not None and bound[1] in {"<", "<="} and bound[2] == "4":
                continue
            return None
        allowed &= _allowed(bound[1] or "=", bound[3])
    if not parts or not allowed or _USUAL in allowed:
        return USUAL if allowed == {_USUAL} else None
    # the nearest to the usual one: the newest below, else the oldest above
    newest = max(allowed)
    if newest < _USUAL:
        return f"3.{newest}"
    return f"3.{min(minor for minor in allowed if minor > _USUAL)}"


def _allowed(sign: str, minor: str | None) -> set[int]:
    every = set(range(_OLDEST, _NEWEST + 1))
    if minor is None or not minor.isdigit():
        return every
    at = int(minor)
    return {
        ">=": {m for m in every if m >= at},
        ">": {m for m in every if m > at},
        "<=": {m for m in every if m <= at},
        "<": {m for m in every if m < at},
        "!=": every - {at},
        "^": {m for m in every if m >= at},
        "~=": {m for m in every if m >= at},
    }.get(sign, {at})


def _find_in_toml(text: str) -> object:
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    for keys in (
        ("project", "requires-python"),
        ("tool", "poetry", "dependencies", "python"),
        ("requires", "python_version"),
    ):
        value: Any = document
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            return value
    return None
