"""Filter the model requests of a sandboxed agent: one model, bounded, with harmless tools only.

The requests may come from code of the repository. A provider's own tools search the web, fetch
addresses and call servers, so each would be a way out of the sandbox. Unknown fields are dropped,
and unknown tools are removed.
"""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from bot.domain.model import Usage
from sandbox.types import Frozen

MOST_ANSWER_TOKENS = 16_000
_TOOLS = frozenset({"function", "custom", "local_shell", "bash_20250124", "text_editor_20250728"})
"""Tools that the agent runs inside the sandbox. Anthropic's own form of these has no type."""
_MEDIA = frozenset(
    {"image", "image_url", "input_image", "input_file", "file", "document", "input_audio", "video"}
)
_SHARED = "model tools tool_choice parallel_tool_calls stream temperature top_p stop"


class Refused(Exception):
    """The request is rejected. The message is sent to the agent."""


class Wire(Frozen):
    """A wire format of agents."""

    paths: dict[str, str]
    """Allowed paths inside, and the corresponding paths below the provider's base address."""
    headers: tuple[str, ...] = ()
    """Headers of the agent that are forwarded."""
    fields: frozenset[str]
    """Fields of a request's body that are forwarded."""
    limits: dict[str, str]
    """Field that limits the answer, by path."""


WIRES: Mapping[str, Wire] = MappingProxyType(
    {
        "openai-chat": Wire(
            paths={"/v1/responses": "/responses", "/v1/chat/completions": "/chat/completions"},
            fields=frozenset(
                (
                    f"{_SHARED} input instructions reasoning include text max_output_tokens "
                    "messages max_tokens seed max_completion_tokens response_format "
                    "reasoning_effort prompt_cache_key truncation"
                ).split()
            ),
            limits={
                "/v1/responses": "max_output_tokens",
                "/v1/chat/completions": "max_completion_tokens",
            },
        ),
        "anthropic": Wire(
            paths={"/v1/messages": "/v1/messages"},
            headers=("anthropic-version", "anthropic-beta"),
            fields=frozenset(
                (
                    f"{_SHARED} messages system max_tokens stop_sequences top_k thinking "
                    "context_management"
                ).split()
            ),
            limits={"/v1/messages": "max_tokens"},
        ),
    }
)


def bounded(body: bytes, path: str, wire: Wire, model: str) -> dict[str, Any]:
    """Filter a request for forwarding.

    Args:
        body: The request's body.
        path: Its path inside.
        wire: Its wire format.
        model: The model to use, whatever the request names.

    Raises:
        Refused: It is invalid, or contains references that must not be forwarded.
    """
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused("the request is not JSON") from None
    if not isinstance(asked, dict):
        raise Refused("the request is not a JSON object")
    kept = {name: value for name, value in asked.items() if name in wire.fields}
    kept["model"] = model
    tools = kept.get("tools")
    if tools is not None:
        kept["tools"] = (
            [tool for tool in tools if _is_inside(tool)] if isinstance(tools, list) else []
        )
        # Providers reject `tool_choice` without tools.
        if not kept["tools"]:
            kept = {name: value for name, value in kept.items() if "tool" not in name}
    for part in _parts([kept.get(name) for name in ("messages", "input", "system")]):
        if str(part.get("type")) in _MEDIA and _points_outside(part):
            raise Refused("media must be embedded, not linked")
    bound = next(
        (name for name in ("max_tokens", wire.limits[path]) if name in kept), wire.limits[path]
    )
    given = kept.get(bound)
    kept[bound] = (
        min(given, MOST_ANSWER_TOKENS) if type(given) is int and given > 0 else MOST_ANSWER_TOKENS
    )
    if path.endswith("responses"):
        # The provider must not store the conversation.
        kept["store"] = False
    elif kept.get("stream") and path.endswith("completions"):
        # Without this, a stream reports no usage to bill.
        kept["stream_options"] = {"include_usage": True}
    return kept


def _is_inside(tool: object) -> bool:
    kind = tool.get("type", "custom") if isinstance(tool, dict) else None
    return isinstance(kind, str) and kind in _TOOLS


def _parts(value: object) -> Iterator[dict[str, Any]]:
    """Yield all objects in messages, at any depth."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _points_outside(part: dict[str, Any]) -> bool:
    """Return True if the provider would fetch a resource; only embedded data is forwarded."""
    values = [
        *part.items(),
        *((name, value) for inner in part.values() for name, value in _items(inner)),
    ]
    return any(
        name in {"file_id", "url", "file_url", "image_url"}
        and not (isinstance(value, dict) or _is_data(value))
        for name, value in values
    )


def _items(value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()


def _is_data(value: object) -> bool:
    return isinstance(value, str) and value.startswith("data:")


def usage_in(content: bytes) -> Usage:
    """Read the token usage of an answer or event stream; zero if there is none.

    Args:
        content: The complete answer.
    """
    counted: dict[str, int] = {}
    for event in _events(content):
        for holder in (event, event.get("message"), event.get("response")):
            usage = holder.get("usage") if isinstance(holder, dict) else None
            if isinstance(usage, dict):
                for name, value in _counts(usage):
                    # Streams repeat the usage with growing numbers.
                    counted[name] = max(counted.get(name, 0), value)
    # Anthropic counts cached tokens apart from `input_tokens`.
    apart = counted.get("cache_read_input_tokens", 0) + counted.get(
        "cache_creation_input_tokens", 0
    )
    return Usage(
        input_tokens=counted.get("prompt_tokens", counted.get("input_tokens", 0)) + apart,
        output_tokens=counted.get("completion_tokens", counted.get("output_tokens", 0)),
        cache_read_tokens=counted.get("cache_read_input_tokens", 0)
        or counted.get("cached_tokens", 0),
        cache_write_tokens=counted.get("cache_creation_input_tokens", 0),
        reasoning_tokens=counted.get("reasoning_tokens", 0),
    )


def _counts(usage: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in usage.items():
        if isinstance(value, dict) and name.endswith("_details"):
            yield from _counts(value)
        elif type(value) is int and 0 <= value < 1 << 40:
            yield name, value


def _events(content: bytes) -> Iterator[dict[str, Any]]:
    pieces = [content]
    if not content.lstrip().startswith(b"{"):
        pieces = [
            line[5:]
            for line in content.splitlines()
            if line.startswith(b"data:") and b'"usage"' in line
        ]
    for piece in pieces:
        try:
            event = json.loads(piece)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event
