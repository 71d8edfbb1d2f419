"""Requests to language models, their answers and their costs."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from sandbox.types import Frozen

LONGEST_ANSWER = 4
"""Maximum of a limit that is raised after an answer was cut off, as a multiple of the first one."""

ANY_HOST = "*"
"""Key of the entry for servers that have no key of their own."""


def is_cli(name: str) -> bool:
    """Return True if a model is a command-line agent, whose answers take minutes.

    Args:
        name: The configured name, such as `codex-cli:gpt-…`, without further options.
    """
    return name.partition(":")[0].strip().endswith("-cli")


class Role(StrEnum):
    """The purpose of a model; each role may have a model of its own."""

    JUDGE = "judge"
    """Judging stages: short answers, for which a cheap model suffices."""
    FIX = "fix"
    """Rung 2: edits."""


class Judging(StrEnum):
    """When the judging stages ask a model; the rules judge in every case."""

    WHEN_UNSURE = "when-unsure"
    """Once where the rules would ask a person, and about a verified change that is not certain."""
    ALWAYS = "always"
    """In every stage of every mission."""
    NEVER = "never"


class Finish(StrEnum):
    """The reason a model stopped."""

    STOP = "stop"
    LENGTH = "length"
    REFUSAL = "refusal"
    OTHER = "other"


class ModelTrouble(StrEnum):
    """The reason for a missing answer; `ModelError` carries one."""

    AUTH = "auth"
    BAD_REQUEST = "bad_request"
    TOO_LARGE = "too_large"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    TRANSPORT = "transport"
    BAD_RESPONSE = "bad_response"
    REFUSAL = "refusal"
    BUDGET = "budget"
    DEADLINE = "deadline"
    UNREADABLE = "unreadable"
    """The model answered twice, and neither answer parsed as the requested type."""

    @property
    def retryable(self) -> bool:
        """Return True if a retry may help."""
        return self in _RETRYABLE


_RETRYABLE = frozenset(
    {
        ModelTrouble.RATE_LIMIT,
        ModelTrouble.OVERLOADED,
        ModelTrouble.TIMEOUT,
        ModelTrouble.TRANSPORT,
        ModelTrouble.BAD_RESPONSE,
    }
)


class Usage(Frozen):
    """Token counts. `input_tokens` always includes tokens read from or written to a cache."""

    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cache_read_tokens: int = Field(default=0, ge=0)
    cache_write_tokens: int = Field(default=0, ge=0)
    reasoning_tokens: int = Field(default=0, ge=0)


class ModelTool(Frozen):
    """A tool that a model may call. Its calls come back as a `tool` block of text."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of the arguments."""


class Prompt(Frozen):
    """One provider-independent request: text in, text out."""

    system: str
    user: str
    max_tokens: int = Field(default=2_000, ge=1)
    temperature: float | None = Field(default=None, ge=0.0, le=2.0)
    json_schema: dict[str, Any] | None = None
    """Schema of a decision; only for servers that can enforce it, never for code."""
    stop: tuple[str, ...] = ()
    seed: int | None = None
    """Also distinguishes samples of one prompt."""
    tools: tuple[ModelTool, ...] = ()
    """Sent to servers that support tool calls. For the others, the text explains the tools."""
    cache: bool = False
    """Requests with the same prefix follow soon; some servers cache it only on request."""
    stable: int = 0
    """Number of first characters of `user` that later requests repeat; 0 means all of it."""
    name: str = ""
    """Name and version of the prompt file, `plan_task@3`; part of a cassette's key."""


class Completion(Frozen):
    """A provider's answer to a prompt."""

    text: str
    finish: Finish = Finish.STOP
    usage: Usage = Usage()
    model: str = ""
    """The model's name as reported by the server."""
    request_id: str = ""
    attempts: int = 1
    """Requests sent; after a timeout, some may have been billed without an answer."""
    latency_s: float = 0.0
    cost_usd: float | None = None
    """The cost reported by the provider (as command-line agents do); None without a report."""
    takes_tools: bool | None = None
    """True if the answer has native tool calls, False if the server refused tools; else None."""


class ModelCall(Frozen):
    """One paid call, for reports, ledger and metrics."""

    stage: str
    """`plan`, `fix`, `reflect`."""
    role: Role
    model: str
    """The configured string without address and key: `anthropic:claude-…`."""
    prompt: str = ""
    trouble: ModelTrouble | None = None
    """None when the model answered."""
    attempts: int = 1
    usage: Usage = Usage()
    cost_usd: float | None = None
    """None means unknown, never 0."""
    reserved_usd: float = 0.0
    """Upper bound of the cost, when a price is known."""
    reserved_tokens: int = 0
    """Upper bound of input and output tokens, as far as it can be estimated."""
    latency_s: float = 0.0
    remembered: bool = False
    """Answered from the journal; it was paid for by an earlier call."""


class Spend(Frozen):
    """The total of several calls."""

    calls: int = 0
    unpriced_calls: int = 0
    """Calls without a known price; `cost_usd` covers the others."""
    cost_usd: float = 0.0
    usage: Usage = Usage()


class Passage(Frozen):
    """A piece of text in a prompt. Text from a repository, a log or a person is untrusted."""

    label: str
    """Its title: `failing test`, `diff that turned the check red`."""
    text: str
    origin: str = ""
    """Its source: a path, `CI log`."""
    trusted: bool = False


class Question(Frozen):
    """A question from a stage or fixer.

    The `Mind` renders it, pays for it and parses the answer.
    """

    stage: str
    prompt: str
    """Name of a file in `bot/llm/prompts`."""
    gaps: dict[str, str | Passage | tuple[Passage, ...]] = Field(default_factory=dict)
    """Values of the prompt's named gaps. A bare string is ours; all other untrusted text is a
    passage."""
    role: Role = Role.JUDGE
    max_tokens: int = Field(default=1_500, ge=1)
    temperature: float = 0.0
    sample: int = 0
    """Index of the sample when the same question is asked several times."""
    order: int = Field(default=0, ge=0)
    """Number of the order of the facts in the prompt; 0 is the order of the file."""
    tools: tuple[ModelTool, ...] = ()
    """Tools that the prompt explains."""
    key: str = ""
    """Identifies the question in its mission, so that a repeated run gets the same answer even if
    the prompt differs in details. If empty, the whole prompt identifies it."""


class Written(Frozen):
    """Free text from a model: an answer that contains edits. Untrusted."""

    text: str
    finish: Finish = Finish.STOP
    call: ModelCall
    failed: tuple[ModelCall, ...] = ()
    """Failed calls of models that were asked earlier."""


def total(calls: tuple[ModelCall, ...]) -> Spend:
    """Return the total of several calls. Calls answered from the journal are not counted again.

    Args:
        calls: Calls of a stage, a mission or a day.
    """
    paid = [call for call in calls if not call.remembered]
    fields = Usage.model_fields
    # Nine digits remove the noise of binary sums.
    return Spend(
        calls=len(paid),
        unpriced_calls=sum(call.cost_usd is None for call in paid),
        cost_usd=round(sum(call.cost_usd or 0.0 for call in paid), 9),
        usage=Usage(**{name: sum(getattr(call.usage, name) for call in paid) for name in fields}),
    )
