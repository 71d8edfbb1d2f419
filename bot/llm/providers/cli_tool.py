"""What the command-line agents have in common: how one is asked, how its answer is read, what its complaints mean."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bot.domain.model import Completion, ModelTrouble, Prompt
from bot.llm.providers.cli_process import CliOutput


@dataclass(frozen=True)
class Asked:
    """One prompt on its way to an agent."""

    prompt: Prompt
    model: str
    folder: Path
    """A fresh one: `home` and `empty` stand in it."""
    base_url: str | None = None
    """Another server than the tool's own."""


@dataclass(frozen=True)
class Way:
    """How the tool is called."""

    argv: tuple[str, ...]
    stdin: str = field(default="", repr=False)
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Complaint:
    """It gave no answer."""

    trouble: ModelTrouble
    words: str = ""
    """Its own; foreign text."""


class CliTool(Protocol):
    """One command-line agent."""

    @property
    def program(self) -> str:
        """What is run: `codex`."""
        ...

    @property
    def key_variable(self) -> str:
        """The one variable that holds a key."""
        ...

    @property
    def takes_schema(self) -> bool:
        """Whether it can hold the model to a JSON schema."""
        ...

    @property
    def reads_host(self) -> bool:
        """Whether it keeps tools that read files of the host it runs on."""
        ...

    def way(self, asked: Asked) -> Way:
        """How it is called, without tools of its own as far as it can do without; may write files into the folder."""
        ...

    def is_hopeless(self, stdout: bytes) -> bool:
        """Whether it will go on trying for ever."""
        ...

    def read(self, output: CliOutput, asked: Asked) -> Completion | Complaint:
        """What it said, when it ended by itself."""
        ...


_KINDS: Sequence[tuple[ModelTrouble, tuple[str, ...]]] = (
    (
        ModelTrouble.TOO_LARGE,
        ("context.{0,20}(length|window|size)", "prompt is too long", "too many tokens", r"\b413\b"),
    ),
    (ModelTrouble.RATE_LIMIT, (r"\b429\b", "rate.?limit", "quota", "resource.?exhausted", "usage limit")),
    (ModelTrouble.OVERLOADED, (r"\b(529|503)\b", "overloaded", "at capacity")),
    (
        ModelTrouble.AUTH,
        (r"\b(401|403)\b", "api.?key", "auth", "log ?in", "forbidden", "credit", "billing", "permission"),
    ),
    (ModelTrouble.TRANSPORT, ("reconnecting", "connect", "econn", "enotfound", "network", "socket", "fetch failed")),
    (ModelTrouble.TRANSPORT, (r"\b50[024]\b", "error sending request", "timed? ?out")),
    (ModelTrouble.BAD_REQUEST, (r"\b(400|404|422)\b", "invalid.?request", "schema", "not.?found", "not supported")),
    (ModelTrouble.BAD_REQUEST, ("unexpected argument", "unknown (option|argument)")),
)
"""The first that fits wins."""
_PATTERNS = tuple((trouble, re.compile("|".join(words), re.IGNORECASE)) for trouble, words in _KINDS)
_LOOKED_AT = 2_000


def trouble_in(words: str) -> ModelTrouble:
    """What kind of trouble a tool's own words tell of."""
    for trouble, pattern in _PATTERNS:
        if pattern.search(words[:_LOOKED_AT]):
            return trouble
    return ModelTrouble.BAD_RESPONSE


def complaint(words: object, stderr: bytes) -> Complaint:
    """A complaint in the tool's own words, or in the last line it printed where there are none."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    text = words if isinstance(words, str) and words else lines[-1] if lines else ""
    return Complaint(trouble_in(text), text)


def whole_prompt(prompt: Prompt) -> str:
    """System and user part in one text, for tools that take no system prompt."""
    return f"{prompt.system.strip()}\n\n{prompt.user}" if prompt.system.strip() else prompt.user


def last_object(text: str) -> dict[str, Any]:
    """The last JSON object that begins at the start of a line; empty when there is none."""
    stripped = text.strip()
    starts = [found.start() for found in re.finditer(r"^\{", stripped, re.MULTILINE)][-_MOST_STARTS:]
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
    """An object within an object; empty when it is not there."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
