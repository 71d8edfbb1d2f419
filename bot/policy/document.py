"""A policy file as data, with the line of everything in it: YAML, or `[tool.metaagent]` of a pyproject.toml."""

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

import yaml

Place = tuple[str | int, ...]
"""Where something stands: keys, and numbers in lists."""

MAX_BYTES = 32_768
MAX_PYPROJECT_BYTES = 262_144
_MAX_TOKENS = 4_000
_MAX_DEPTH = 20
_MAX_DOTS = 100
"""In one line outside strings: the time that the parser takes for a dotted key grows with the square of its parts."""
_PLAIN = frozenset(f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null"))
_OPENING = (
    yaml.FlowSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.BlockMappingStartToken,
)
_CLOSING = (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken, yaml.BlockEndToken)
# In these each character can be matched in one way only, so that nothing takes longer than its length.
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
"""What stands in quotes and comments; without its end, all that follows: the parser refuses that."""
_SETTING = re.compile(r"\s*([\w.\"'-]+)\s*=")


class UnreadableError(Exception):
    """The file as a whole cannot be read.

    Args:
        message: Why, said of the file.
        line: Where, when that is known.
    """

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass
class Document:
    """What a file says."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[Place, int] = field(default_factory=dict)
    """Counted from one."""
    wrong: dict[Place, str] = field(default_factory=dict)
    """What cannot be read though the rest can, and why."""

    def line_of(self, place: Place) -> int:
        """The line of something, or of the nearest thing around it."""
        for length in range(len(place), 0, -1):
            if place[:length] in self.lines:
                return self.lines[place[:length]]
        return self.lines.get((), 1)


def read_document(content: bytes, *, toml: bool) -> Document | None:
    """A file's content as data; None when it says nothing of us.

    Args:
        content: The file.
        toml: It is a pyproject.toml.

    Raises:
        UnreadableError: it is too large, or not what it should be.
    """
    most = MAX_PYPROJECT_BYTES if toml else MAX_BYTES
    if toml and b"metaagent" not in content:
        return None
    if len(content) > most:
        raise UnreadableError(f"the file is larger than {most} bytes and was not read")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError("the file is not UTF-8 text", content.count(b"\n", 0, error.start) + 1) from error
    try:
        return _toml(text) if toml else _yaml(text)
    except RecursionError as error:
        raise UnreadableError("the file is nested too deep and was not read") from error


def _yaml(text: str) -> Document:
    try:
        _check_tokens(text)
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        said = getattr(error, "problem", None) or type(error).__name__
        raise UnreadableError(f"the file is not YAML ({said})", mark.line + 1 if mark else 1) from error
    found = Document()
    if root is None or root.tag.endswith(":null"):
        return found
    if not isinstance(root, yaml.MappingNode):
        raise UnreadableError("the file is not a mapping of keys", root.start_mark.line + 1)
    found.values = _value(loader, root, (), found)
    return found


def _check_tokens(text: str) -> None:
    """Aliases can make a small file enormous, and nesting can exhaust the stack; nobody needs either here."""
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
    """The plain data of a node; its line, and what is wrong with it, go to `found`."""
    found.lines.setdefault(place, node.start_mark.line + 1)
    if node.tag not in _PLAIN:
        found.wrong[place] = "a value of this kind is not allowed here"
        return None
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, item, (*place, number), found) for number, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _mapping(loader, node, place, found)
    try:
        return loader.construct_object(node)
    except (yaml.YAMLError, ValueError):
        found.wrong[place] = "the value cannot be read"
        return None


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode, place: Place, found: Document) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else "?"
        here = (*place, name)
        if name in values:
            found.wrong[here] = f"it is set twice, first in line {found.lines[here]}"
        found.lines[here] = key.start_mark.line + 1
        values[name] = _value(loader, value, here, found)
    return values


def _toml(text: str) -> Document | None:
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
    """Where keys of our table stand; the parser does not tell, and for a message a look at each line is enough."""
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
