"""Find a message in a model's text: the last valid candidate of the best class wins.

Classes, best first: YAML blocks, other blocks, the whole text without stray backticks, text after a
line with `type:`, a JSON object. Command-line agents print banners and repeat the question, so a
message from the question is no answer.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot.llm.protocol.envelope import NotAMessage, open_envelope
from bot.llm.protocol.messages import Message
from bot.llm.protocol.strings import TEXT_CAP, StringsError, parse_json, read
from sandbox.gate.strip import HIDDEN, strip

M = TypeVar("M", bound=Message)

CAP = 262_144
"""Maximum number of characters examined: a quarter at the beginning, the rest at the end."""
CANDIDATES = 16
"""Maximum number of candidates of each class, counted from the end."""
FENCES = 200
"""Maximum number of fence lines, counted from the end."""
PARSED = 24_576
"""Maximum number of characters parsed for one answer."""
_THOUGHTS = re.compile(r"<(/?)(?:think|thinking|reasoning)>")
_FENCE = re.compile(r"^([ \t]*+)(`{3,}+|~{3,}+)[ \t]*+([\w+-]*+)[^`\n]*+$", re.MULTILINE)
_YAML = frozenset({"yaml", "yml"})
_TYPE_LINE = re.compile(r"^([ \t]*+)(?:- )?`*+(?:ya?ml )?type:[ \t]*+[\"']?\w", re.MULTILINE)
_TYPE = re.compile(r"\btype[\"']?[ \t]*+:", re.IGNORECASE)
_OBJECT = re.compile(r"\{\s*\"(?:type|version|payload)\"\s*:")
_INDENT = re.compile(r"^[ \t\u00a0\u3000]+", re.MULTILINE)


@dataclass(frozen=True)
class Extracted(Generic[M]):
    """Result of the extraction."""

    message: M | None
    problem: str = ""
    """Reason for a missing message, for the model."""
    closed: bool = True
    """True if the end of the message is marked, so that the answer was not cut off."""


@dataclass(frozen=True)
class _Candidate:
    text: str
    closed: bool = False
    read: Callable[[str], list[object]] = read


def extract(text: str, returns: type[M], *, echoed: str = "") -> Extracted[M]:
    """Extract the message from an answer.

    Args:
        text: The answer; untrusted.
        returns: The requested type.
        echoed: The question; a message that it contains is no answer.
    """
    problem, near = f"it holds no YAML block with `type: {returns.type}`", False
    repeated: list[M] | None = None
    for candidate, found in _read(text):
        try:
            message = open_envelope(found, returns)
        except NotAMessage as error:
            if error.near and not near:
                problem, near = error.problem, True
            continue
        if repeated is None:
            repeated = list(_messages(echoed, returns)) if echoed else []
        # Command-line agents echo the prompt, whose examples are valid messages.
        if message not in repeated:
            return Extracted(message, closed=candidate.closed)
        problem, near = "it repeats a message of the question", True
    return Extracted(None, problem=problem, closed=False)


def prepared(text: str) -> list[str]:
    """Return the examined parts of an answer, without thoughts, escapes and hidden characters.

    Args:
        text: The answer.
    """
    parts = [text] if len(text) <= CAP else [text[: CAP // 4], text[-CAP * 3 // 4 :]]
    return [_visible(part) for part in parts]


def _messages(text: str, returns: type[M]) -> Iterator[M]:
    """Yield every message of a type in a text."""
    for _, found in _read(text):
        try:
            yield open_envelope(found, returns)
        except NotAMessage:
            continue


def _read(text: str) -> Iterator[tuple[_Candidate, object]]:
    """Yield every parsed candidate, the best first."""
    budget = PARSED
    for candidates in _classes(prepared(text)):
        for candidate in reversed(candidates[-CANDIDATES:]):
            size = len(candidate.text)
            if size > min(TEXT_CAP, budget) or not _TYPE.search(candidate.text):
                continue
            budget -= size
            try:
                found = candidate.read(_space(candidate.text))
            except StringsError:
                continue
            for value in reversed(found):
                yield candidate, value


def _classes(parts: list[str]) -> Iterator[list[_Candidate]]:
    """Yield the candidates of each class, in text order."""
    blocks = [block for part in parts for block in _blocks(part)]
    yield [candidate for info, candidate in blocks if info in _YAML]
    yield [candidate for info, candidate in blocks if info not in _YAML]
    yield [
        _Candidate(_without_ticks(part), part.rstrip().endswith("}"))
        for part in parts
        if len(part) < 2 * TEXT_CAP
    ]
    yield [candidate for part in parts for candidate in _from_type_lines(part)]
    yield [
        _Candidate(part[found.start() : found.start() + TEXT_CAP], closed=True, read=_json)
        for part in parts
        for found in list(_OBJECT.finditer(part))[-CANDIDATES:]
    ]


def _visible(text: str) -> str:
    text = text.replace("\r\n", "\n")
    if HIDDEN.search(text):
        text = strip(text)
    return _without_thoughts(text)


def _without_thoughts(text: str) -> str:
    """Remove a model's thoughts; an unclosed thought extends to the end."""
    kept: list[str] = []
    at = depth = 0
    for mark in _THOUGHTS.finditer(text):
        if not mark[1]:
            if depth == 0:
                kept.append(text[at : mark.start()])
            depth += 1
        elif depth == 0:
            kept.clear()  # some servers omit the opening mark
        else:
            depth -= 1
        at = mark.end()
    return "".join([*kept, "" if depth else text[at:]])


def _space(text: str) -> str:
    """Convert indentation to spaces."""
    return _INDENT.sub(
        lambda found: found[0].replace("\t", "  ").replace("\u00a0", " ").replace("\u3000", " "),
        text,
    )


def _blocks(text: str) -> list[tuple[str, _Candidate]]:
    """Return all fenced blocks; a fence with a language always begins a new block."""
    found: list[tuple[str, _Candidate]] = []
    opening: re.Match[str] | None = None
    for fence in list(_FENCE.finditer(text))[-FENCES:]:
        if opening is not None:
            closes = not fence[3] and fence[2].startswith(opening[2])
            # A fence with more indentation is content of the block.
            if len(fence[1]) > len(opening[1]) or not (closes or fence[3]):
                continue
            found.append(_block(text, opening, fence.start(), closed=closes))
            opening = None if closes else fence
        else:
            opening = fence
    if opening is not None:
        found.append(_block(text, opening, len(text), closed=False))
    return found


def _block(text: str, opening: re.Match[str], end: int, *, closed: bool) -> tuple[str, _Candidate]:
    body = text[opening.end() + 1 : min(end, opening.end() + 2 + TEXT_CAP)]
    return opening[3].lower(), _Candidate(_dedent(body.split("\n"), len(opening[1])), closed=closed)


def _dedent(lines: list[str], indent: int) -> str:
    """Remove the indentation of a block."""
    return "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines)


def _from_type_lines(text: str) -> Iterator[_Candidate]:
    """Yield the text from each `type:` line to the next one, or to a line with less indentation."""
    starts = list(_TYPE_LINE.finditer(text))[-CANDIDATES:]
    ends = [found.start() for found in starts[1:]] + [len(text)]
    for found, end in zip(starts, ends, strict=False):
        indent = len(found[1])
        lines = text[found.start() : min(end, found.start() + TEXT_CAP)].split("\n")
        inside = next(
            (
                number
                for number, line in enumerate(lines)
                if number and line.strip() and line[:indent].strip()
            ),
            len(lines),
        )
        yield _Candidate(_without_ticks(_dedent(lines[:inside], indent)))


def _without_ticks(text: str) -> str:
    """Remove backticks at the beginning and end of lines."""
    if "`" not in text:
        return text.strip("\n")
    return "\n".join(
        _line_without_ticks(line) if "`" in line else line for line in text.split("\n")
    ).strip("\n")


def _line_without_ticks(line: str) -> str:
    body = line.lstrip()
    indent, ticked = line[: len(line) - len(body)], body.startswith("`")
    body = body.strip("` \t")
    if ticked and body.lower() in _YAML:
        return ""
    return indent + (body.removeprefix("yaml ") if ticked else body)


def _json(text: str) -> list[object]:
    return [parse_json(text)]
