"""Read the declared distributions of a checkout from its files, without running code."""

import ast
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sandbox.changes.ini import parse_ini
from sandbox.changes.syntax import parse

MAX_CHARACTERS = 400_000
MAX_DEPTH = 2
"""Deeper files belong to vendored projects or examples."""
# The pattern of names in PEP 508.
_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_WANTED = re.compile(
    r"(?:.*/)?(?:pyproject\.toml|setup\.cfg|setup\.py|Pipfile(?:\.lock)?|poetry\.lock|uv\.lock|pdm\.lock|pylock.*\.toml"
    r"|[\w.-]*(?:requirements|constraints)[\w.-]*\.(?:txt|in)|requirements/[\w.-]+\.(?:txt|in))"
)
LOCKS = ("poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "pylock")


def is_declaring(path: str) -> bool:
    """Return True if a file may declare distributions."""
    return _WANTED.fullmatch(path) is not None and path.count("/") <= MAX_DEPTH


def normal(name: str) -> str:
    """Return a distribution's name in normalized form (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared_in(path: str, text: str) -> dict[str, str]:
    """Return the line or specifier of each distribution that a file declares, by normalized name.

    Args:
        path: Path of the file.
        text: Its content.
    """
    if len(text) > MAX_CHARACTERS:
        return {}
    name = path.rsplit("/", 1)[-1]
    try:
        if name == "setup.py":
            return _named(_setup_calls(text))
        if name == "setup.cfg":
            return _named(_ini_lines(text))
        if name == "Pipfile.lock":
            return _locked_json(text)
        if name.endswith((".toml", ".lock")) or name == "Pipfile":
            return _toml(tomllib.loads(text))
    except (ValueError, RecursionError):
        return {}
    # Lines with `-` are pip options, such as `-r other.txt`.
    return _named(line for line in text.splitlines() if not line.lstrip().startswith(("-", "#")))


def _named(lines: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        match = _NAME.match(line)
        # `name = value` and `name:` are configuration, not requirements.
        if match and not re.match(r"\s*(?:=(?!=)|:)", line[match.end() :]):
            found.setdefault(
                normal(match[1]), line.split("#")[0].split(" --hash")[0].rstrip("\\ ").strip()
            )
    return found


def _setup_calls(text: str) -> Iterator[str]:
    tree = parse(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.keyword) and node.arg in {
            "install_requires",
            "tests_require",
            "extras_require",
        }:
            yield from (
                inner.value
                for inner in ast.walk(node.value)
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
            )


def _ini_lines(text: str) -> Iterator[str]:
    parser = parse_ini(text)
    if parser is None:
        return
    places = [("options", "install_requires"), ("options", "tests_require")]
    if parser.has_section("options.extras_require"):
        names = parser.options("options.extras_require")
        places += [("options.extras_require", name) for name in names]
    for section, option in places:
        yield from (parser.get(section, option, fallback=None) or "").splitlines()


def _locked_json(text: str) -> dict[str, str]:
    document = json.loads(text)
    tables = (
        [document.get(part) for part in ("default", "develop")]
        if isinstance(document, dict)
        else []
    )
    return {normal(name): name for table in tables if isinstance(table, dict) for name in table}


def _toml(document: Mapping[str, Any]) -> dict[str, str]:
    locked = _list(document.get("package")) + _list(document.get("packages"))
    lines = [str(package.get("name", "")) for package in locked if isinstance(package, dict)]
    project, tool = _table(document.get("project")), _table(document.get("tool"))
    lines += map(str, _list(project.get("dependencies")))
    for groups in (
        project.get("optional-dependencies"), document.get("dependency-groups"),
        _table(tool.get("pdm")).get("dev-dependencies"),
    ):  # fmt: skip
        lines += [str(line) for group in _table(groups).values() for line in _list(group)]
    poetry = _table(tool.get("poetry"))
    tables = [poetry.get("dependencies"), poetry.get("dev-dependencies"), document.get("packages")]
    tables += [_table(group).get("dependencies") for group in _table(poetry.get("group")).values()]
    tables.append(document.get("dev-packages"))
    lines += [str(name) for table in tables for name in _table(table)]
    return _named(lines)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
