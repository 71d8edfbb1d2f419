"""Read a checkout's configuration files as data: bounded, parsed once, tolerant of errors."""

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import Any, TypeVar

from sandbox.changes.ini import parse_ini
from sandbox.changes.syntax import has_huge_number
from sandbox.recipe.document import read_document
from sandbox.recipe.fidelity import FidelityLog
from sandbox.types import USUAL

_Value = TypeVar("_Value")
MOST_BYTES = 512 * 1024
_LONGEST_PATTERN = 200
_LONGEST_PATH = 400
_MOST_PYTHON_BYTES = 256 * 1024
_MOST_CHARACTERS = 100_000
_MOST_VERSION_LINES = 20
_TOPS = ("$GITHUB_WORKSPACE", "${GITHUB_WORKSPACE}", USUAL.workdir)
"""Names of the checkout's folder."""


def _parse_toml(text: str) -> dict[str, Any]:
    if has_huge_number(text):
        raise ValueError("TOML has 64 bits for a number")
    return tomllib.loads(text)


class CheckoutFiles:
    """The names of all files, and the contents of the relevant ones.

    Args:
        contents: The files that were read.
        names: All regular files of the checkout; None takes those that were read.
        log: Receives malformed files.
    """

    def __init__(
        self, contents: Mapping[str, bytes], names: Collection[str] | None, log: FidelityLog
    ) -> None:
        self.contents = contents
        self.names = frozenset(contents if names is None else names)
        self.log = log
        self._tables: dict[str, dict[str, Any]] = {}
        self._parsers: dict[str, configparser.ConfigParser] = {}
        self._trees: dict[str, ast.Module | None] = {}
        self._folders: frozenset[str] | None = None
        self._remembered: dict[tuple[str, ...], Any] = {}

    def text(self, path: str) -> str:
        """Return a file's text; empty if it is missing or too large."""
        raw = self.contents.get(path, b"")
        return raw.decode("utf-8", "replace") if len(raw) <= MOST_BYTES else ""

    def toml(self, path: str) -> dict[str, Any]:
        """Return a TOML file's table; empty if there is none."""
        if path not in self._tables:
            self._tables[path] = self._read(path, _parse_toml, "it is not valid TOML")
        return self._tables[path]

    def json(self, path: str) -> dict[str, Any]:
        """Return a JSON file's object; empty if there is none."""
        if path not in self._tables:
            self._tables[path] = self._read(path, json.loads, "it is not valid JSON")
        return self._tables[path]

    def yaml(self, path: str) -> dict[str, Any]:
        """Return a YAML file's mapping; empty if there is none."""
        if path not in self._tables and path in self.contents:
            self._tables[path], problem = read_document(self.contents[path])
            if problem:
                self.log.dropped(path, problem)
        return self._tables.get(path, {})

    def _read(self, path: str, parse: Any, reason: str) -> dict[str, Any]:
        if path not in self.contents:
            return {}
        try:
            found = (
                parse(self.contents[path].decode("utf-8-sig"))
                if len(self.contents[path]) <= MOST_BYTES
                else {}
            )
        except (ValueError, RecursionError, MemoryError):
            self.log.dropped(path, reason)
            return {}
        return found if isinstance(found, dict) else {}

    def ini(self, path: str) -> configparser.ConfigParser:
        """Parse a configuration file; empty if there is none."""
        if path not in self._parsers:
            parser = parse_ini(self.text(path))
            if parser is None:
                self.log.dropped(path, "it is not a valid configuration file")
                parser = configparser.ConfigParser(interpolation=None)
            self._parsers[path] = parser
        return self._parsers[path]

    def python(self, path: str) -> ast.Module | None:
        """Return a Python file's syntax tree; None if it is missing or malformed."""
        if path not in self._trees:
            self._trees[path] = self._parse(path)
        return self._trees[path]

    def _parse(self, path: str) -> ast.Module | None:
        raw = self.contents.get(path)
        if raw is None or len(raw) > _MOST_PYTHON_BYTES:
            return None
        if has_huge_number(raw.decode("utf-8", "replace")):
            self.log.dropped(path, "it has a huge number")
            return None
        try:
            return ast.parse(raw)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.log.dropped(path, "it is not valid Python")
            return None

    def remember(self, key: tuple[str, ...], make: Callable[[], _Value]) -> _Value:
        """Return what `make` returned for a key, because many calls may name the same file."""
        if key not in self._remembered:
            self._remembered[key] = make()
        found: _Value = self._remembered[key]
        return found

    def is_file(self, path: str) -> bool:
        """Return True if the checkout has the file."""
        return path in self.names

    def is_folder(self, path: str) -> bool:
        """Return True if the checkout has the folder."""
        if self._folders is None:
            found: set[str] = {"."}
            for name in self.names:
                while "/" in name:
                    name = name.rpartition("/")[0]  # noqa: PLW2901
                    if name in found:
                        break
                    found.add(name)
            self._folders = frozenset(found)
        return path in self._folders

    def matching(self, pattern: str, folder: str = ".") -> list[str]:
        """Return the files and folders that match a pattern; folders only if it ends in `/`."""
        prefix = "" if folder == "." else f"{folder}/"
        wanted = (prefix + pattern.removeprefix("./").rstrip("/")).split("/")
        if len(pattern) > _LONGEST_PATTERN:
            return []
        places = {
            "/".join(parts[: len(wanted)])
            for name in self.names
            if len(parts := name.split("/")) >= len(wanted)
        }
        found = sorted(place for place in places if all(map(fnmatchcase, place.split("/"), wanted)))
        end = "/" if pattern.endswith("/") else ""
        return [
            f"{place.removeprefix(prefix)}{end}"
            for place in found
            if not end or self.is_folder(place)
        ]

    def is_project(self, folder: str) -> bool:
        """Return True if a folder contains an installable Python project."""
        return any(
            self.is_file(beside(folder, name))
            for name in ("pyproject.toml", "setup.py", "setup.cfg")
        )


def beside(folder: str, name: str) -> str:
    """Join a folder of the checkout and a name."""
    return name if folder == "." else f"{folder}/{name}"


def inside(folder: str, path: str) -> str | None:
    """Resolve a relative path to a path of the checkout; None if it leads outside."""
    plain = path.removeprefix("file:")
    for top in ("$PWD", "${PWD}", *_TOPS):
        if plain == top or plain.startswith(f"{top}/"):
            folder = "." if top in _TOPS else folder
            plain = plain[len(top) + 1 :] or "."
    if not plain or plain.startswith(("/", "~")) or len(plain) > _LONGEST_PATH or "\0" in plain:
        return None
    found = normpath(f"{folder}/{plain}")
    return None if found.startswith(("/", "..")) else found


def file_text(path: str, contents: Mapping[str, bytes]) -> str:
    """Return the beginning of a file's text; empty if the file is missing."""
    return contents.get(path, b"").decode("utf-8", "replace")[:_MOST_CHARACTERS]


def named_version(path: str, contents: Mapping[str, bytes], tool: str) -> str:
    """Return the version in a file such as `.nvmrc` or `.tool-versions`; empty if there is none.

    Args:
        path: The file.
        contents: The files that were read.
        tool: Pattern of the tool's name in `.tool-versions`.
    """
    text = file_text(path, contents)
    if path.rsplit("/", 1)[-1] == ".tool-versions":
        asked = re.search(rf"^{tool}\s+(\S+)", text, re.MULTILINE)
        return asked[1] if asked else ""
    lines = (line.split("#")[0].strip() for line in text.splitlines()[:_MOST_VERSION_LINES])
    return next(filter(None, lines), "")


def section(table: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return a nested table; empty if any part of its path is something else."""
    for name in names:
        table = mapping(table.get(name))
    return table


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a table, else an empty one."""
    return value if isinstance(value, dict) else {}


def words(value: object) -> list[str]:
    """Return the strings of a list."""
    return (
        [item for item in value[:2000] if isinstance(item, str)]
        if isinstance(value, list | tuple)
        else []
    )


def tables(value: object) -> list[dict[str, Any]]:
    """Return the tables of a list."""
    return (
        [item for item in value[:2000] if isinstance(item, dict)] if isinstance(value, list) else []
    )


def option_lines(parser: configparser.ConfigParser, part: str, option: str) -> list[str]:
    """Return the lines of an option without comments."""
    text = parser.get(part, option, fallback="") or ""
    return [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not line.strip().startswith("#")
    ]
