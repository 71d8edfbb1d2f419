"""What is asked of a language model, what it answers, and what that costs."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from sandbox.types import Frozen

ANY_HOST = "*"
"""Among keys: the one of every server that has none of its own."""


def is_cli(name: str) -> bool:
    """Whether a configured model is a command-line agent: an answer takes minutes where others take seconds.

    Args:
        name: `codex-cli:gpt-…`, without what else is asked.
    """
    return name.partition(":")[0].strip().endswith("-cli")


class Role(StrEnum):
    """What a model is wanted for; each role may have a model of its own."""

    JUDGE = "judge"
    """Stages that decide: short answers, a cheap model will do."""
    FIX = "fix"
    """Rung 2: edits."""


class Finish(StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    LENGTH = "length"
    REFUSAL = "refusal"
    OTHER = "other"


class ModelTrouble(StrEnum):
    """Why there is no answer; `bot.errors.ModelError` carries one."""

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
    """It answered, twice, and the answer is no message of the type asked for."""

    @property
    def retryable(self) -> bool:
        """Whether asking again may help."""
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
    """Tokens. `input_tokens` includes those that were read from or written to a cache, whatever the server says."""

    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cache_read_tokens: int = Field(default=0, ge=0)
    cache_write_tokens: int = Field(default=0, ge=0)
    reasoning_tokens: int = Field(default=0, ge=0)


class Prompt(Frozen):
    """One request, as every provider takes it: text in, text out, no tools."""

    system: str
    user: str
    max_tokens: int = Field(default=2_000, ge=1)
    temperature: float | None = Field(default=None, ge=0.0, le=2.0)
    json_schema: dict[str, Any] | None = None
    """Of a decision; only for servers that can hold a model to it, and never for code."""
    stop: tuple[str, ...] = ()
    seed: int | None = None
    """Also tells samples of one prompt apart."""
    cache: bool = False
    """Others with the same beginning follow soon; some servers keep it only when they are asked to."""
    name: str = ""
    """`plan_task@3`: the prompt file and its version; part of a cassette's key."""


class Completion(Frozen):
    """What a provider gave for a prompt."""

    text: str
    finish: Finish = Finish.STOP
    usage: Usage = Usage()
    model: str = ""
    """As the server calls it."""
    request_id: str = ""
    attempts: int = 1
    """Requests that were sent; after a time-out some of them may have been billed without an answer."""
    latency_s: float = 0.0
    cost_usd: float | None = None
    """As the provider itself says (command-line agents do); None where it says nothing."""


class ModelCall(Frozen):
    """One paid question, for reports, ledger and metrics."""

    stage: str
    """`plan`, `fix`, `reflect`."""
    role: Role
    model: str
    """The configured string without address and key: `anthropic:claude-…`."""
    prompt: str = ""
    trouble: ModelTrouble | None = None
    """None when it answered."""
    attempts: int = 1
    usage: Usage = Usage()
    cost_usd: float | None = None
    """None is unknown, and never 0."""
    reserved_usd: float = 0.0
    """What it could have cost at most, where a price is known."""
    reserved_tokens: int = 0
    """What it could have read and written at most, as far as that can be estimated."""
    latency_s: float = 0.0
    remembered: bool = False
    """Answered from the journal: it was paid for before."""


class Spend(Frozen):
    """What several calls came to."""

    calls: int = 0
    unpriced_calls: int = 0
    """Of these the price is not known; `cost_usd` holds the others."""
    cost_usd: float = 0.0
    usage: Usage = Usage()


class Passage(Frozen):
    """A piece of text in a prompt. Whatever comes from a repository, a log or a person is not trusted."""

    label: str
    """What it is: `failing test`, `diff that turned the check red`."""
    text: str
    origin: str = ""
    """Where it comes from: a path, `CI log`."""
    trusted: bool = False


class Question(Frozen):
    """What a stage or the fixer wants to know; the mind renders it, pays for it and reads the answer."""

    stage: str
    prompt: str
    """Name of a file in `bot/llm/prompts`."""
    gaps: dict[str, str | Passage | tuple[Passage, ...]] = Field(default_factory=dict)
    """Fills the prompt's named gaps. A bare string is ours; everything else that is not trusted is a passage."""
    role: Role = Role.JUDGE
    max_tokens: int = Field(default=1_500, ge=1)
    temperature: float = 0.0
    sample: int = 0
    """The same question asked several times."""


class Written(Frozen):
    """A model's free text: an answer with edits in it. Hostile data."""

    text: str
    finish: Finish = Finish.STOP
    call: ModelCall
    failed: tuple[ModelCall, ...] = ()
    """Of models that were asked before and gave nothing."""


def total(calls: tuple[ModelCall, ...]) -> Spend:
    """What calls came to; those that were paid for before count once, where they were made.

    Args:
        calls: Of a stage, a mission, a day.
    """
    paid = [call for call in calls if not call.remembered]
    fields = Usage.model_fields
    return Spend(
        calls=len(paid),
        unpriced_calls=sum(call.cost_usd is None for call in paid),
        cost_usd=round(sum(call.cost_usd or 0.0 for call in paid), 9),
        usage=Usage(**{name: sum(getattr(call.usage, name) for call in paid) for name in fields}),
    )
