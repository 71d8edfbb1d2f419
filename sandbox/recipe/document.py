"""Parse YAML files into plain values, with limits against hostile growth."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

_MOST_BYTES = 256 * 1024
_MOST_BYTES_IN_ALL = 4 * 1024 * 1024
_MOST_NODES = 20_000
_DEEPEST = 40
_MOST_ITEMS = 300
_BROKEN = (
    yaml.YAMLError,
    UnicodeDecodeError,
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    IndexError,
    OverflowError,
    RecursionError,
)


_Base: Any = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)  # the C loader has the same rules and is ten times as fast


class _Loader(_Base):  # type: ignore[misc]  # which of the two is known when it runs
    """Resolves words as GitHub does (YAML 1.2): `on` is a string, `012` decimal, no dates."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 (filled below)


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), list(_first)
    )
_NUMBER = "-+0123456789."
_Loader.add_implicit_resolver(
    "tag:workflow,2026:int",
    re.compile(r"(?:[-+]?[0-9]{1,18}|0x[0-9a-fA-F]{1,15})\Z"),
    list(_NUMBER),
)
_Loader.add_implicit_resolver(
    "tag:workflow,2026:float",
    re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?\Z"),
    list(_NUMBER),
)


def _integer(_: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    return int(node.value, 16 if node.value.lower().startswith("0x") else 10)


def _float(_: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    return float(node.value)


_Loader.add_constructor("tag:workflow,2026:int", _integer)
_Loader.add_constructor("tag:workflow,2026:float", _float)


def read_document(raw: bytes) -> tuple[dict[str, Any], str]:
    """Parse the top-level mapping of a YAML file.

    Args:
        raw: The content of the file.

    Returns:
        The mapping, and the error if it could not be parsed (the mapping is then empty).
    """
    if len(raw) > _MOST_BYTES:
        return {}, "it is too large"
    try:
        text = raw.decode("utf-8-sig")
        if excess := find_excess(text):
            return {}, excess
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader with fewer words)
    except _BROKEN:
        return {}, "it is not valid YAML"
    if not isinstance(document, dict):
        return {}, "it is not a mapping"
    return {str(key): value for key, value in document.items()}, ""


class Documents:
    """The YAML files of a repository, each parsed once, with a limit of their total size.

    Args:
        contents: The repository's files.
    """

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self.contents = contents
        self._read: dict[str, tuple[dict[str, Any], str]] = {}
        self._left = _MOST_BYTES_IN_ALL

    def read(self, path: str) -> tuple[dict[str, Any], str]:
        """Parse a file; see `read_document`."""
        if path not in self._read:
            raw = self.contents.get(path)
            if raw is None:
                return {}, "it is not in the repository"
            return self.parse(path, raw)
        return self._read[path]

    def parse(self, key: str, raw: bytes) -> tuple[dict[str, Any], str]:
        """Parse a text once, within the same limit; see `read_document`.

        Args:
            key: Its name, which differs from every other path.
            raw: The text.
        """
        if key not in self._read:
            self._left -= len(raw)
            self._read[key] = (
                read_document(raw)
                if self._left >= 0
                else ({}, "the workflows are too large in total")
            )
        return self._read[key]


def mapping(value: object) -> dict[str, Any]:
    """Return a mapping with string keys; empty for any other value."""
    if not isinstance(value, dict):
        return {}
    return {text(key): item for key, item in list(value.items())[:_MOST_ITEMS]}


def sequence(value: object) -> list[Any]:
    """Return a list with limited length; empty for any other value."""
    return value[:_MOST_ITEMS] if isinstance(value, list) else []


def steps_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the steps of a job or an action in order; those of a `parallel` group one by one."""
    found: list[dict[str, Any]] = []
    for step in map(mapping, sequence(table.get("steps"))):
        group = sequence(step.get("parallel"))
        found += map(mapping, group) if group else [step]
    return found[:_MOST_ITEMS]


def text(value: object) -> str:
    """Convert a scalar as in a shell; empty for lists and mappings."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return number_text(value)
    return str(value) if isinstance(value, str | int) else ""


def number_text(value: float) -> str:
    """Format a number as GitHub does: `3`, `3.1`, `NaN`."""
    if value != value:  # noqa: PLR0124 (the one value that differs from itself)
        return "NaN"
    if value in {float("inf"), float("-inf")}:
        return "Infinity" if value > 0 else "-Infinity"
    # A double represents integers up to 2**53 exactly, which is more than 15 digits.
    if value == int(value) and abs(value) < 1e15:  # noqa: PLR2004
        return str(int(value))
    return f"{value:.15g}"


def find_excess(text: str) -> str:
    """Return why a document must not be built: too nested, expanding by aliases, or recursive.

    Raises:
        yaml.YAMLError: It is not YAML.
    """
    depth, total = 0, 0
    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = []
    # Count events before any node is built: aliases can expand exponentially ("billion laughs").
    for event in _events(text):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                return "a part of it contains itself"
            total += sizes[event.anchor]
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
            if event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            total += 1
            opened.append((event.anchor, total))
            sizes.pop(event.anchor or "", None)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            anchor, before = opened.pop()
            if anchor:
                sizes[anchor] = total - before + 1
        if depth > _DEEPEST or total > _MOST_NODES:
            return (
                "it nests too deeply"
                if depth > _DEEPEST
                else "it is too long, or its aliases expand too far"
            )
    return ""


def _events(text: str) -> Iterator[yaml.Event]:
    yield from yaml.parse(text, Loader=_Base)
