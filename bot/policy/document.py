"""A policy file as data with line numbers: YAML, or `[tool.metaagent]` of a pyproject.toml."""

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

import yaml

Place = tuple[str | int, ...]
"""The path to a value: keys, and indexes in lists."""

MAX_BYTES = 32_768
MAX_PYPROJECT_BYTES = 262_144
"""Largest files that are read; a pyproject.toml mostly holds the settings of other tools."""
_MAX_TOKENS = 4_000
_MAX_DEPTH = 20
"""Limits of a YAML file, checked before it is parsed as a tree."""
_MAX_DOTS = 100
"""Most dots in one line outside strings. The TOML parser's time for a dotted key grows with the
square of its parts."""
# JSON's types only: YAML would also make dates, sets and binary data.
_PLAIN = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null")
)
_OPENING = (
    yaml.FlowSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.BlockMappingStartToken,
)
_CLOSING = (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken, yaml.BlockEndToken)
# Every pattern matches in one way only, so that the time is linear in the length of the file.
_HEADER = re.compile(r"\s*\[\[?([\w.\"' \t-]+)\]\]?\s*(?:#.*)?$")
_STRING = re.compile(
    r"""
    "{3} (?: [^"\\] | \\. | "(?!"") )*+ "{0,5}
    | '{3} (?: [^'] | '(?!'') )*+ '{0,5}
    | " (?: [^"\\\n] | \\. )*+ "?
    | ' [^'\n]* '?
    | \# [^\n]*
    """,
    re.DOTALL | re.VERBOSE,
)
"""A string or a comment. Without its end it matches the rest, which the parser refuses."""
_SETTING = re.compile(r"\s*([\w.\"'-]+)\s*=")


class UnreadableError(Exception):
    """The whole file is unreadable.

    Args:
        message: The reason, about the file.
        line: The line, if known.
    """

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass
class Document:
    """The content of a policy file."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[Place, int] = field(default_factory=dict)
    """Line numbers, from 1."""
    wrong: dict[Place, str] = field(default_factory=dict)
    """Values that are unreadable, with the reason."""

    def find_line(self, place: Place) -> int:
        """Return the line of a value, or of the nearest enclosing value."""
        for length in range(len(place), 0, -1):
            if place[:length] in self.lines:
                return self.lines[place[:length]]
        return self.lines.get((), 1)


def read_document(content: bytes, *, toml: bool) -> Document | None:
    """Parse a policy file; return None if it does not mention us.

    Args:
        content: The content of the file.
        toml: True for a pyproject.toml.

    Raises:
        UnreadableError: the file is too large or malformed.
    """
    most = MAX_PYPROJECT_BYTES if toml else MAX_BYTES
    # Most pyproject.toml files do not mention us and need not be parsed.
    if toml and b"metaagent" not in content:
        return None
    if len(content) > most:
        raise UnreadableError(f"the file is larger than {most} bytes and was not read")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(
            "the file is not UTF-8 text", content.count(b"\n", 0, error.start) + 1
        ) from error
    try:
        return _toml(text) if toml else _yaml(text)
    except RecursionError as error:
        raise UnreadableError("the file is nested too deep and was not read") from error


def _yaml(text: str) -> Document:
    try:
        # Checked before nodes are built, which could exhaust memory or stack.
        _check_tokens(text)
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        said = getattr(error, "problem", None) or type(error).__name__
        raise UnreadableError(
            f"the file is not YAML ({said})", mark.line + 1 if mark else 1
        ) from error
    found = Document()
    if root is None or root.tag.endswith(":null"):
        return found
    if not isinstance(root, yaml.MappingNode):
        raise UnreadableError("the file is not a mapping of keys", root.start_mark.line + 1)
    found.values = _value(loader, root, (), found)
    return found


def _check_tokens(text: str) -> None:
    """Refuse aliases and deep nesting.

    Aliases can make a small file enormous, and nesting can exhaust the stack.
    """
    depth = 0
    for count, token in enumerate(yaml.scan(text, Loader=yaml.SafeLoader)):
        line = token.start_mark.line + 1
        if isinstance(token, yaml.AliasToken | yaml.AnchorToken):
            raise UnreadableError("the file uses aliases and was not read", line)
        if isinstance(token, _OPENING):
            depth += 1
        elif isinstance(token, _CLOSING):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise UnreadableError("the file is nested too deep and was not read", line)
        if count > _MAX_TOKENS:
            raise UnreadableError("the file is too long and was not read", line)


def _value(loader: yaml.SafeLoader, node: yaml.Node, place: Place, found: Document) -> Any:
    """Return the plain data of a node, and record its line and errors in `found`."""
    found.lines.setdefault(place, node.start_mark.line + 1)
    if node.tag not in _PLAIN:
        found.wrong[place] = "a value of this kind is not allowed here"
        return None
    if isinstance(node, yaml.SequenceNode):
        return [
            _value(loader, item, (*place, number), found) for number, item in enumerate(node.value)
        ]
    if isinstance(node, yaml.MappingNode):
        return _mapping(loader, node, place, found)
    try:
        return loader.construct_object(node)
    except (yaml.YAMLError, ValueError):
        found.wrong[place] = "the value cannot be read"
        return None


def _mapping(
    loader: yaml.SafeLoader, node: yaml.MappingNode, place: Place, found: Document
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else "?"
        here = (*place, name)
        # PyYAML would silently keep the last value.
        if name in values:
            found.wrong[here] = f"it is set twice, first in line {found.lines[here]}"
        found.lines[here] = key.start_mark.line + 1
        values[name] = _value(loader, value, here, found)
    return values


def _toml(text: str) -> Document | None:
    # Strings and comments are blanked with their line breaks kept: only dots of keys count.
    bare = _STRING.sub(lambda found: "\n" * found[0].count("\n"), text)
    for number, row in enumerate(bare.split("\n"), 1):
        if row.count(".") > _MAX_DOTS:
            raise UnreadableError("the file is nested too deep and was not read", number)
    try:
        tool = tomllib.loads(text).get("tool", {})
    except (tomllib.TOMLDecodeError, ValueError) as error:
        line = re.search(r"at line (\d+)", str(error))
        raise UnreadableError("the file is not TOML", int(line.group(1)) if line else 1) from error
    if not isinstance(tool, dict) or "metaagent" not in tool:
        return None
    lines = _toml_lines(text)
    if not isinstance(tool["metaagent"], dict):
        raise UnreadableError("[tool.metaagent] is not a table", lines.get((), 1))
    return Document(values=tool["metaagent"], lines=lines)


def _toml_lines(text: str) -> dict[Place, int]:
    """Return the lines of our keys; the parser does not report them."""
    lines: dict[Place, int] = {}
    table: list[str | int] = []
    rows = 0
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = list(_parts(header.group(1)))
            if line.lstrip().startswith("[["):
                table.append(rows)
                rows += 1
        elif setting := _SETTING.match(line):
            _note(lines, (*table, *_parts(setting.group(1))), number)
            continue
        else:
            continue
        _note(lines, tuple(table), number)
    return lines


def _note(lines: dict[Place, int], place: Place, number: int) -> None:
    if place[:2] == ("tool", "metaagent"):
        for length in range(2, len(place) + 1):
            lines.setdefault(place[2:length], number)


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
