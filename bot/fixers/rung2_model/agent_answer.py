"""Parse an answer of our agent: tool calls and edits, in the order of its text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from bot.fixers.rung2_model.edits.labels import closes_fence, open_fence
from bot.fixers.rung2_model.edits.parse import MARKER, MAX_ANSWER, prepare

MOST_CALLS = 6
"""Tools that one answer may call."""
DONE = "done"
_MOST_LINE = 2_000
_CALL = re.compile(r"^(?:[-*+>$][ \t]+|\d{1,2}[.)][ \t]+)?(`?)([A-Za-z]\w{0,30})(.*)$")
_QUOTES = "\"'`"


@dataclass(frozen=True)
class ToolCall:
    """A tool that a model asks for.

    Attributes:
        name: Name of the tool.
        argument: The rest of its line; untrusted.
    """

    name: str
    argument: str = ""


@dataclass(frozen=True)
class AgentAnswer:
    """An answer of the agent.

    Attributes:
        text: The answer without thoughts.
        parts: Calls and other text, which may contain edits, in order.
        sentence: The cause that it names; None if it does not end.
        dropped: Number of calls beyond the limit.
        is_cut: True if the answer was longer than is read.
    """

    text: str
    parts: tuple[ToolCall | str, ...]
    sentence: str | None = None
    dropped: int = 0
    is_cut: bool = False


def parse_answer(text: str) -> AgentAnswer:
    """Return the calls and the other text of an answer.

    Calls are the lines of `tool` blocks. Blocks inside of other fences and of edits are text.

    Args:
        text: The answer; untrusted.
    """
    lines = prepare(text[:MAX_ANSWER])
    parts, calls, sentence, dropped = list[ToolCall | str](), 0, None, 0
    for part in _parts(lines):
        if isinstance(part, str):
            parts.append(part)
        elif part.name == DONE:
            sentence = sentence or part.argument
        elif calls < MOST_CALLS:
            calls += 1
            parts.append(part)
        else:
            dropped += 1
    return AgentAnswer("\n".join(lines), tuple(parts), sentence, dropped, len(text) > MAX_ANSWER)


def _parts(lines: Sequence[str]) -> Iterator[ToolCall | str]:
    """Yield the calls, and the text between them, in one pass over the lines."""
    # A marker that is never closed must not hide the tools after it.
    last_close = max((at for at, line in enumerate(lines) if _is_marker(line, "close")), default=-1)
    kept, place = list[str](), _Place()
    for at, line in enumerate(lines):
        before, place = place, _move(place, line, closes=at < last_close)
        if _Inside.TOOL not in {before.inside, place.inside}:
            kept.append(line)
        elif before.inside is not _Inside.TOOL:
            yield from _joined(kept)
            kept = []
        elif place.inside is _Inside.TOOL and (call := _parse_call(line)) is not None:
            yield call
    yield from _joined(kept)


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines as one text, unless they are blank."""
    text = "\n".join(lines)
    if text.strip():
        yield text


class _Inside(Enum):
    """The kind of block that a line is in."""

    NOTHING = auto()
    FENCE = auto()
    TOOL = auto()
    EDIT = auto()


class _Place(NamedTuple):
    """A place in an answer: the block, and the mark of the fence around it."""

    inside: _Inside = _Inside.NOTHING
    mark: str = ""


def _move(place: _Place, line: str, *, closes: bool) -> _Place:
    """Return the place after a line.

    Args:
        place: The place before it.
        line: A line of the answer.
        closes: True if a later line ends an edit.
    """
    inside, mark = place
    if inside is _Inside.EDIT:
        after = _Place(_Inside.FENCE if mark else _Inside.NOTHING, mark)
        return after if _is_marker(line, "close") else place
    if mark and closes_fence(line, mark):
        return _Place()
    if inside is not _Inside.TOOL and closes and _is_marker(line, "open"):
        return _Place(_Inside.EDIT, mark)
    # A fence may be indented further than edits allow, as in a list.
    fence = open_fence(line.strip()) if inside is _Inside.NOTHING else None
    if fence is None:
        return place
    is_tool = fence["info"].lower() in {"tool", "tools"}
    return _Place(_Inside.TOOL if is_tool else _Inside.FENCE, fence["mark"])


def _is_marker(line: str, kind: str) -> bool:
    """Return True if a line begins (`open`) or ends (`close`) an edit."""
    marker = MARKER.match(line)
    return marker is not None and marker[kind] is not None


def _parse_call(line: str) -> ToolCall | None:
    """Parse `read a.py`, `- read: "a.py"` or `read("a.py")`; None for a blank line."""
    line = line.strip()[:_MOST_LINE]
    if not line or line.startswith("#"):
        return None
    found = _CALL.match(line)
    if found is None:
        return ToolCall(line)
    name, rest = found[2].lower(), found[3].removesuffix(found[1])
    if rest.startswith("(") and rest.endswith(")"):
        rest = rest[1:-1]
    argument = rest.removeprefix(":").strip()
    if len(argument) > 1 and argument[0] == argument[-1] and argument[0] in _QUOTES:
        argument = argument[1:-1].strip()
    return ToolCall(name, argument)
