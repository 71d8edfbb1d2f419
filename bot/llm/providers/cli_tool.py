"""Common parts of command-line agents: calls, answers and the classification of complaints."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bot.domain.model import Completion, ModelTrouble, Prompt
from bot.llm.providers.cli_process import CliOutput


@dataclass(frozen=True)
class AgentPrompt:
    """A prompt for an agent."""

    prompt: Prompt
    model: str
    folder: Path
    """A new folder that contains `home` and `empty`."""
    base_url: str | None = None
    """Address of another server than the tool's default."""


@dataclass(frozen=True)
class Invocation:
    """A command line with input and variables."""

    argv: tuple[str, ...]
    stdin: str = field(default="", repr=False)
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Complaint:
    """The tool gave no answer."""

    trouble: ModelTrouble
    words: str = ""
    """The tool's message; untrusted."""


class CliTool(Protocol):
    """A command-line agent."""

    @property
    def program(self) -> str:
        """Return the program's name, such as `codex`."""
        ...

    @property
    def key_variable(self) -> str:
        """Return the name of the variable for the key."""
        ...

    @property
    def takes_schema(self) -> bool:
        """Return True if it supports a JSON schema."""
        ...

    @property
    def reads_host(self) -> bool:
        """Return True if it keeps tools that read files of the host."""
        ...

    def way(self, asked: AgentPrompt) -> Invocation:
        """Return the command, with as few tools as possible; may write files to the folder."""
        ...

    def is_hopeless(self, stdout: bytes) -> bool:
        """Return True if it will retry without end."""
        ...

    def read(self, output: CliOutput, asked: AgentPrompt) -> Completion | Complaint:
        """Parse the output of a process that ended by itself."""
        ...


_KINDS: Sequence[tuple[ModelTrouble, tuple[str, ...]]] = (
    (
        ModelTrouble.TOO_LARGE,
        ("context.{0,20}(length|window|size)", "prompt is too long", "too many tokens", r"\b413\b"),
    ),
    (
        ModelTrouble.RATE_LIMIT,
        (r"\b429\b", "rate.?limit", "quota", "resource.?exhausted", "usage limit"),
    ),
    (ModelTrouble.OVERLOADED, (r"\b(529|503)\b", "overloaded", "at capacity")),
    (
        ModelTrouble.AUTH,
        (
            r"\b(401|403)\b",
            "api.?key",
            "auth",
            "log ?in",
            "forbidden",
            "credit",
            "billing",
            "permission",
        ),
    ),
    (
        ModelTrouble.TRANSPORT,
        ("reconnecting", "connect", "econn", "enotfound", "network", "socket", "fetch failed"),
    ),
    (ModelTrouble.TRANSPORT, (r"\b50[024]\b", "error sending request", "timed? ?out")),
    (
        ModelTrouble.BAD_REQUEST,
        (r"\b(400|404|422)\b", "invalid.?request", "schema", "not.?found", "not supported"),
    ),
    (ModelTrouble.BAD_REQUEST, ("unexpected argument", "unknown (option|argument)")),
)
"""Patterns of errors; the first match wins."""
_PATTERNS = tuple(
    (trouble, re.compile("|".join(words), re.IGNORECASE)) for trouble, words in _KINDS
)
_LOOKED_AT = 2_000


def trouble_in(words: str) -> ModelTrouble:
    """Classify a tool's error message."""
    for trouble, pattern in _PATTERNS:
        if pattern.search(words[:_LOOKED_AT]):
            return trouble
    return ModelTrouble.BAD_RESPONSE


def complaint(words: object, stderr: bytes) -> Complaint:
    """Build a complaint from the tool's message, or else from its last line of standard error."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    text = words if isinstance(words, str) and words else lines[-1] if lines else ""
    return Complaint(trouble_in(text), text)


def whole_prompt(prompt: Prompt) -> str:
    """Join system and user part, for tools without a system prompt."""
    return f"{prompt.system.strip()}\n\n{prompt.user}" if prompt.system.strip() else prompt.user


def last_object(text: str) -> dict[str, Any]:
    """Return the last JSON object at the start of a line; empty if there is none."""
    stripped = text.strip()
    starts = [found.start() for found in re.finditer(r"^\{", stripped, re.MULTILINE)][
        -_MOST_STARTS:
    ]
    decoder = json.JSONDecoder()
    for start in reversed(starts):
        try:
            value, _ = decoder.raw_decode(stripped, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return {}


_MOST_STARTS = 50


def part(value: object, *names: str) -> dict[str, Any]:
    """Return a nested object; empty if it is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
