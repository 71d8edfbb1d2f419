"""Parse YAML and JSON as strings, lists and mappings, without type conversion or references."""

import json
import re
from typing import Any

import yaml

from bot.errors import Fault, MetaAgentError

TEXT_CAP = 16_384
DEPTH_CAP = 20
NODE_CAP = 1_000
_STEP = 1_024
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_VALUE = re.compile(r"""^(\s*(?:- )*(?:[\w"'][\w "'./-]{0,80}:[ ]+)?)([^\s|>'].*)$""")
_KEY = re.compile(r"""["']?\w[\w -]{0,60}["']?:(?:\s|$)|[-{}\[\]]|---|\.\.\.|#""")


class StringsError(MetaAgentError):
    """A text is not valid YAML, or exceeds a limit.

    Args:
        message: The problem.
        line: Its line, from 0.
    """

    fault = Fault.PROVIDER

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def read(text: str) -> list[object]:
    """Parse the documents of a handwritten text.

    Values that YAML would read as markup are quoted, and prose after the last document is dropped.
    Nothing inside a document is dropped.

    text: YAML or JSON.
        text: YAML or JSON.

    StringsError: It is neither, or exceeds a limit.
        StringsError: it is neither, or beyond a cap.
    """
    if text.lstrip().startswith("{"):
        try:
            return [parse_json(text)]
        except StringsError:
            pass  # it may still be YAML with a flow mapping
    lines = text.split("\n")
    mended: set[int] = set()
    # Each repair parses the text again; this bounds the total work.
    left = len(text) + 6 * _STEP
    while left > 0:
        try:
            return documents("\n".join(lines))
        except StringsError as error:
            left -= _STEP + sum(len(line) for line in lines[: error.line + 1])
            if not _repaired(lines, error.line, mended):
                raise
    raise StringsError("it has too many errors")


def documents(text: str) -> list[object]:
    """Parse the documents of a YAML stream; empty values and `null` become None.

    text: YAML.
        text: YAML.

    StringsError: It is invalid, too long or too deep, or has an anchor, alias or tag.
        StringsError: It is invalid, too long or too deep, or has an anchor, alias or tag.
    """
    if len(text) > TEXT_CAP:
        raise StringsError(f"it is longer than {TEXT_CAP} characters")
    # The C parser cannot encode lone surrogates.
    plain = text.encode("utf-8", "replace").decode()
    builder = _Builder()
    try:
        for event in yaml.parse(plain, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        # A scan error is caused where the scan began, not where it stopped.
        scanning = (error.context or "").startswith(
            "while scanning"
        ) and error.context_mark is not None
        mark = error.context_mark if scanning else error.problem_mark
        raise StringsError(
            str(error.problem or "it is not YAML"), mark.line if mark else 0
        ) from error
    except yaml.YAMLError as error:
        raise StringsError("it is not YAML") from error
    return builder.found


def parse_json(text: str) -> object:
    """Parse the JSON value at the beginning of a text; the rest is dropped.

    text: JSON.
        text: JSON.

    StringsError: It is invalid, or exceeds a limit.
        StringsError: it is none, or beyond a cap.
    """
    # Numbers stay text, as in YAML; the validator converts them.
    decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
    try:
        value, _ = decoder.raw_decode(text[:TEXT_CAP].lstrip())
    except (ValueError, RecursionError) as error:
        raise StringsError("it is not JSON") from error
    left = [NODE_CAP]
    return _plain(value, DEPTH_CAP, left)


def _plain(value: Any, depth: int, left: list[int]) -> object:
    """Convert the scalars of a decoded value to strings, within the limits."""
    left[0] -= 1
    if depth < 0 or left[0] < 0:
        raise StringsError("it is nested too deeply or has too many values")
    if isinstance(value, dict):
        return {str(key): _plain(entry, depth - 1, left) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry, depth - 1, left) for entry in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return value


class _Builder:
    """Builds values from YAML events without recursion; the limits stop hostile input early."""

    def __init__(self) -> None:
        self.found: list[object] = []
        self._open: list[dict[str, object] | list[object]] = []
        self._keys: list[str | None] = []
        self._nodes = 0

    def take(self, event: Any) -> None:
        """Process an event."""
        line = event.start_mark.line if event.start_mark is not None else 0
        if (
            isinstance(event, yaml.AliasEvent)
            or getattr(event, "anchor", None)
            or getattr(event, "tag", None)
        ):
            raise StringsError("anchors, aliases and tags are not supported", line)
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0]
            self._add(None if plain and event.value in _NULLS else event.value, line)
        elif isinstance(event, yaml.MappingStartEvent):
            self._enter({}, line)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._enter([], line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._open.pop()
            self._keys.pop()

    def _enter(self, value: dict[str, object] | list[object], line: int) -> None:
        self._add(value, line)
        self._open.append(value)
        self._keys.append(None)
        if len(self._open) > DEPTH_CAP:
            raise StringsError("it is nested too deeply", line)

    def _add(self, value: object, line: int) -> None:
        self._nodes += 1
        if self._nodes > NODE_CAP:
            raise StringsError("it has too many values", line)
        if not self._open:
            self.found.append(value)
            return
        inside = self._open[-1]
        if isinstance(inside, list):
            inside.append(value)
        elif self._keys[-1] is None:
            if value is not None and not isinstance(value, str):
                raise StringsError("a key must be a string", line)
            self._keys[-1] = value or ""
        else:
            inside[self._keys[-1]] = value
            self._keys[-1] = None


def _repaired(lines: list[str], line: int, mended: set[int]) -> bool:
    """Repair an error: drop prose after the document, or quote a value."""
    line = min(line, len(lines) - 1)
    if (cut := _prose(lines, line)) is not None:
        del lines[cut:]
        return True
    # Each line is quoted only once; another error in it is final.
    if line in mended or (found := _VALUE.match(lines[line])) is None:
        return False
    mended.add(line)
    head, value = found.groups()
    lines[line] = f"{head}'{value.rstrip().replace(chr(39), chr(39) * 2)}'"
    return True


def _prose(lines: list[str], line: int) -> int | None:
    """Return the line at which unindented prose begins, if the error is in it."""
    while line > 0 and (not lines[line] or lines[line][0].isspace()):
        line -= 1
    return line if line > 0 and not _KEY.match(lines[line]) else None
