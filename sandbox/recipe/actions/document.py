"""YAML of a workflow or an action as plain values, with bounds on everything hostile YAML can grow."""

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


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same rules, ten times as fast where it is built


class _Loader(_Base):  # type: ignore[misc]  # which of the two is known when it runs
    """Words as GitHub reads them (YAML 1.2): `on` is a word, `012` a number without a base, no dates, no `22:30`."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 (as the base class has it; filled below)


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), list(_first))
_NUMBER = "-+0123456789."
_Loader.add_implicit_resolver(
    "tag:workflow,2026:int", re.compile(r"(?:[-+]?[0-9]{1,18}|0x[0-9a-fA-F]{1,15})\Z"), list(_NUMBER)
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
    """The mapping at the top of a YAML file.

    Args:
        raw: The file.

    Returns:
        The mapping, and why it could not be read (then the mapping is empty).
    """
    if len(raw) > _MOST_BYTES:
        return {}, "it is too large to be read"
    try:
        text = raw.decode("utf-8-sig")
        if excess := _excess(text):
            return {}, excess
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader with fewer words)
    except _BROKEN:
        return {}, "it is not valid YAML"
    if not isinstance(document, dict):
        return {}, "it is not a mapping"
    return {str(key): value for key, value in document.items()}, ""


class Documents:
    """The YAML files of a repository, each read once, and together no more than a few megabytes.

    Args:
        contents: The repository's files.
    """

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self.contents = contents
        self._read: dict[str, tuple[dict[str, Any], str]] = {}
        self._left = _MOST_BYTES_IN_ALL

    def read(self, path: str) -> tuple[dict[str, Any], str]:
        """See `read_document`."""
        if path not in self._read:
            raw = self.contents.get(path)
            if raw is None:
                return {}, "it is not in the repository"
            self._left -= len(raw)
            self._read[path] = read_document(raw) if self._left >= 0 else ({}, "there is too much to be read")
        return self._read[path]


def mapping(value: object) -> dict[str, Any]:
    """A mapping with text keys; anything else is empty."""
    if not isinstance(value, dict):
        return {}
    return {text(key): item for key, item in list(value.items())[:_MOST_ITEMS]}


def sequence(value: object) -> list[Any]:
    """A list, bounded; anything else is empty."""
    return value[:_MOST_ITEMS] if isinstance(value, list) else []


def text(value: object) -> str:
    """A scalar as a shell would see it; never a list or mapping."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return number_text(value)
    return str(value) if isinstance(value, str | int) else ""


def number_text(value: float) -> str:
    """A number as GitHub writes it: `3`, `3.1`, `NaN`."""
    if value != value:  # noqa: PLR0124 (the one value that differs from itself)
        return "NaN"
    if value in {float("inf"), float("-inf")}:
        return "Infinity" if value > 0 else "-Infinity"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.15g}"  # noqa: PLR2004 (doubles)


def _excess(text: str) -> str:
    """Why the document is not to be built: it nests, grows by its aliases, or contains itself."""
    depth, total = 0, 0
    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = []
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
            return "it nests too deeply" if depth > _DEEPEST else "it is too long, or its aliases make it so"
    return ""


def _events(text: str) -> Iterator[yaml.Event]:
    yield from yaml.parse(text, Loader=_Base)
