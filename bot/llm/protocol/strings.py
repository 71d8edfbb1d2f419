"""YAML and JSON as strings, lists and mappings: every scalar stays what was written, and nothing refers to another."""

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
    """A text is no YAML that we take.

    Args:
        message: What is wrong.
        line: Where, counted from 0.
    """

    fault = Fault.PROVIDER

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def read(text: str) -> list[object]:
    """The documents in a text that somebody wrote by hand.

    A value that YAML would take for markup is quoted, and prose that follows the last document is left out. Inside a
    document nothing is left out.

    Args:
        text: YAML or JSON.

    Raises:
        StringsError: it is neither, or beyond a cap.
    """
    if text.lstrip().startswith("{"):
        try:
            return [of_json(text)]
        except StringsError:
            pass  # it may still be YAML, whose mappings begin so too
    lines = text.split("\n")
    mended: set[int] = set()
    left = len(text) + 6 * _STEP
    while left > 0:
        try:
            return documents("\n".join(lines))
        except StringsError as error:
            left -= _STEP + sum(len(line) for line in lines[: error.line + 1])
            if not _repaired(lines, error.line, mended):
                raise
    raise StringsError("there are too many mistakes in it")


def documents(text: str) -> list[object]:
    """The documents of a YAML stream; scalars are strings, and what is empty or `null` is None.

    Args:
        text: YAML.

    Raises:
        StringsError: it is none, it is too long or too deep, or it holds an anchor, an alias or a tag.
    """
    if len(text) > TEXT_CAP:
        raise StringsError(f"it is longer than {TEXT_CAP} characters")
    plain = text.encode("utf-8", "replace").decode()
    builder = _Builder()
    try:
        for event in yaml.parse(plain, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        scanning = (error.context or "").startswith("while scanning") and error.context_mark is not None
        mark = error.context_mark if scanning else error.problem_mark
        raise StringsError(str(error.problem or "it is no YAML"), mark.line if mark else 0) from error
    except yaml.YAMLError as error:
        raise StringsError("it is no YAML") from error
    return builder.found


def of_json(text: str) -> object:
    """The JSON value a text begins with, in the same form; what follows it is left out.

    Args:
        text: JSON.

    Raises:
        StringsError: it is none, or beyond a cap.
    """
    decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
    try:
        value, _ = decoder.raw_decode(text[:TEXT_CAP].lstrip())
    except (ValueError, RecursionError) as error:
        raise StringsError("it is no JSON") from error
    left = [NODE_CAP]
    return _plain(value, DEPTH_CAP, left)


def _plain(value: Any, depth: int, left: list[int]) -> object:
    """A decoded value without anything but strings; checked against the caps."""
    left[0] -= 1
    if depth < 0 or left[0] < 0:
        raise StringsError("it is nested too deeply or holds too much")
    if isinstance(value, dict):
        return {str(key): _plain(entry, depth - 1, left) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry, depth - 1, left) for entry in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return value


class _Builder:
    """Makes values of events, without recursion; the caps end a hostile text at once."""

    def __init__(self) -> None:
        self.found: list[object] = []
        self._open: list[dict[str, object] | list[object]] = []
        self._keys: list[str | None] = []
        self._nodes = 0

    def take(self, event: Any) -> None:
        """One more event."""
        line = event.start_mark.line if event.start_mark is not None else 0
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise StringsError("anchors, aliases and tags are not taken", line)
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
            raise StringsError("it holds too much", line)
        if not self._open:
            self.found.append(value)
            return
        inside = self._open[-1]
        if isinstance(inside, list):
            inside.append(value)
        elif self._keys[-1] is None:
            if value is not None and not isinstance(value, str):
                raise StringsError("a key is a word", line)
            self._keys[-1] = value or ""
        else:
            inside[self._keys[-1]] = value
            self._keys[-1] = None


def _repaired(lines: list[str], line: int, mended: set[int]) -> bool:
    """Change the lines so that the mistake is gone: the prose after the document, or a value that needs quotes."""
    line = min(line, len(lines) - 1)
    if (cut := _prose(lines, line)) is not None:
        del lines[cut:]
        return True
    if line in mended or (found := _VALUE.match(lines[line])) is None:
        return False
    mended.add(line)
    head, value = found.groups()
    lines[line] = f"{head}'{value.rstrip().replace(chr(39), chr(39) * 2)}'"
    return True


def _prose(lines: list[str], line: int) -> int | None:
    """Where prose begins that the mistake is in: at the margin, after a document, with no key in front."""
    while line > 0 and (not lines[line] or lines[line][0].isspace()):
        line -= 1
    return line if line > 0 and not _KEY.match(lines[line]) else None
