"""The configuration files of a checkout, read as data: bounded, parsed once, and never a reason to stop."""

import ast
import configparser
import json
import tomllib
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import Any

from sandbox.recipe.fidelity import FidelityLog

MOST_BYTES = 512 * 1024
_LONGEST_PATTERN = 200
_MOST_PYTHON_BYTES = 256 * 1024


class Files:
    """What is known of a checkout: every name, and the contents of the files that matter.

    Args:
        contents: The files that were read.
        names: Every regular file of the checkout; None takes those that were read.
        log: Where a malformed file is noted.
    """

    def __init__(self, contents: Mapping[str, bytes], names: Collection[str] | None, log: FidelityLog) -> None:
        self.contents = contents
        self.names = frozenset(contents if names is None else names)
        self.log = log
        self._tables: dict[str, dict[str, Any]] = {}
        self._parsers: dict[str, configparser.ConfigParser] = {}
        self._trees: dict[str, ast.Module | None] = {}
        self._folders: frozenset[str] | None = None

    def text(self, path: str) -> str:
        """A file's text; empty when there is none or it is too large."""
        raw = self.contents.get(path, b"")
        return raw.decode("utf-8", "replace") if len(raw) <= MOST_BYTES else ""

    def toml(self, path: str) -> dict[str, Any]:
        """A TOML file's table; empty when there is none."""
        if path not in self._tables:
            self._tables[path] = self._read(path, tomllib.loads, "it is not valid TOML")
        return self._tables[path]

    def json(self, path: str) -> dict[str, Any]:
        """A JSON file's object; empty when there is none."""
        if path not in self._tables:
            self._tables[path] = self._read(path, json.loads, "it is not valid JSON")
        return self._tables[path]

    def _read(self, path: str, parse: Any, reason: str) -> dict[str, Any]:
        if path not in self.contents:
            return {}
        try:
            found = parse(self.contents[path].decode("utf-8")) if len(self.contents[path]) <= MOST_BYTES else {}
        except (ValueError, RecursionError, MemoryError):
            self.log.dropped(path, reason)
            return {}
        return found if isinstance(found, dict) else {}

    def ini(self, path: str) -> configparser.ConfigParser:
        """A configuration file; empty when there is none."""
        if path not in self._parsers:
            parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
            try:
                parser.read_string(self.text(path).lstrip("\ufeff"))
            except (configparser.Error, AttributeError):  # it stumbles over a value behind an option without one
                self.log.dropped(path, "it is not a valid configuration file")
                parser = configparser.ConfigParser(interpolation=None)
            self._parsers[path] = parser
        return self._parsers[path]

    def python(self, path: str) -> ast.Module | None:
        """A Python file's syntax tree; None when there is none that can be read."""
        if path not in self._trees:
            self._trees[path] = self._parse(path)
        return self._trees[path]

    def _parse(self, path: str) -> ast.Module | None:
        raw = self.contents.get(path)
        if raw is None or len(raw) > _MOST_PYTHON_BYTES:
            return None
        try:
            return ast.parse(raw)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.log.dropped(path, "it is not valid Python")
            return None

    def is_file(self, path: str) -> bool:
        """Whether the checkout has such a file."""
        return path in self.names

    def is_folder(self, path: str) -> bool:
        """Whether the checkout has such a folder."""
        if self._folders is None:
            found: set[str] = {"."}
            for name in self.names:
                while "/" in name:
                    name = name.rpartition("/")[0]  # noqa: PLW2901 (up, until a folder that is known)
                    if name in found:
                        break
                    found.add(name)
            self._folders = frozenset(found)
        return path in self._folders

    def matching(self, pattern: str, folder: str = ".") -> list[str]:
        """The files and folders an unquoted pattern stands for, seen from a folder; one that ends in `/`: folders."""
        prefix = "" if folder == "." else f"{folder}/"
        wanted = (prefix + pattern.removeprefix("./").rstrip("/")).split("/")
        if len(pattern) > _LONGEST_PATTERN:
            return []
        places = {"/".join(parts[: len(wanted)]) for name in self.names if len(parts := name.split("/")) >= len(wanted)}
        found = sorted(place for place in places if all(map(fnmatchcase, place.split("/"), wanted)))
        end = "/" if pattern.endswith("/") else ""
        return [f"{place.removeprefix(prefix)}{end}" for place in found if not end or self.is_folder(place)]

    def is_project(self, folder: str) -> bool:
        """Whether a folder holds a Python project that an installer would take."""
        return any(self.is_file(beside(folder, name)) for name in ("pyproject.toml", "setup.py", "setup.cfg"))


def beside(folder: str, name: str) -> str:
    """A path in a folder of the checkout, in plain form."""
    return name if folder == "." else f"{folder}/{name}"


def inside(folder: str, path: str) -> str | None:
    """A relative path seen from a folder, as a path of the checkout; None when it leads out of it."""
    plain = path.removeprefix("file:")
    for top in ("$GITHUB_WORKSPACE/", "${GITHUB_WORKSPACE}/", "$PWD/", "${PWD}/"):
        if plain.startswith(top):
            folder, plain = ("." if "WORKSPACE" in top else folder), plain[len(top) :]
    if plain in {"$GITHUB_WORKSPACE", "${GITHUB_WORKSPACE}"}:
        return "."
    if not plain or plain.startswith(("/", "~")) or len(plain) > 400 or "\0" in plain:  # noqa: PLR2004 (a long path)
        return None
    found = normpath(f"{folder}/{plain}")
    return None if found.startswith(("/", "..")) else found


def section(table: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """A table inside tables; empty when anything on the way is something else."""
    for name in names:
        table = mapping(table.get(name))
    return table


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a table, else an empty one."""
    return value if isinstance(value, dict) else {}


def words(value: object) -> list[str]:
    """The strings of a list."""
    return [item for item in value[:2000] if isinstance(item, str)] if isinstance(value, list | tuple) else []


def tables(value: object) -> list[dict[str, Any]]:
    """The tables of a list."""
    return [item for item in value[:2000] if isinstance(item, dict)] if isinstance(value, list) else []


def listed(parser: configparser.ConfigParser, part: str, option: str) -> list[str]:
    """The lines of an option, without comments."""
    text = parser.get(part, option, fallback="") or ""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
