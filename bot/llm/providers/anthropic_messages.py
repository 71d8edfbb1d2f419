"""Anthropic's Messages API, for Claude and compatible servers such as llama.cpp."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from bot.domain.model import Completion, Finish, Prompt, Usage
from bot.llm.providers.anthropic_events import MessageEvents
from bot.llm.providers.http_chat import HttpChat
from bot.llm.providers.replies import count
from bot.llm.providers.tool_calls import append_calls

BASE_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
TOOL = "answer"
"""Name of a pseudo tool. A forced tool call gives structured output with every Anthropic model."""

_FINISHES = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_use": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.REFUSAL,
}


class AnthropicMessages(HttpChat):
    """Calls `POST {base}/v1/messages`."""

    kind = "anthropic"
    path = "/v1/messages"
    schema_parameter = "tool_choice"
    optional: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (),
        "stop_sequences": (),
        "cache_control": (),
        "tools": ("tool_choice",),
        # A server may refuse forced calls and still take tools.
        "tool_choice": (),
    }
    assembler = MessageEvents

    @override
    def _headers(self, key: str) -> Mapping[str, str]:
        return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})

    @override
    def _body(self, prompt: Prompt) -> dict[str, Any]:
        keep = prompt.cache and self._adaptive.takes("cache_control")
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": prompt.max_tokens,
            "system": _cached_block(prompt.system) if keep else prompt.system,
            "messages": [{"role": "user", "content": _cached(prompt) if keep else prompt.user}],
            # 1.0 is the maximum of the API.
            "temperature": None if prompt.temperature is None else min(prompt.temperature, 1.0),
            "stop_sequences": list(prompt.stop) or None,
        }
        if prompt.tools:
            body["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters,
                }
                for tool in prompt.tools
            ]
        if prompt.json_schema is not None and self.can_hold_to_schema:
            body["tools"] = [
                {"name": TOOL, "description": "The answer.", "input_schema": prompt.json_schema}
            ]
            body["tool_choice"] = {"type": "tool", "name": TOOL}
        return {name: value for name, value in body.items() if value is not None}

    @override
    def _answer(self, data: Any) -> Completion:
        usage = data.get("usage") or {}
        read, written = (
            count(usage.get("cache_read_input_tokens")),
            count(usage.get("cache_creation_input_tokens")),
        )
        calls = [block for block in data["content"] if _is_call(block)]
        return Completion(
            text=_join(data["content"], calls),
            finish=_FINISHES.get(data.get("stop_reason") or "", Finish.OTHER),
            usage=Usage(
                input_tokens=count(usage.get("input_tokens")) + read + written,
                output_tokens=count(usage.get("output_tokens")),
                cache_read_tokens=read,
                cache_write_tokens=written,
            ),
            model=str(data.get("model") or ""),
            takes_tools=True if calls else None,
        )


def _cached(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the question in blocks; the server caches the one that later questions repeat."""
    at = prompt.stable or len(prompt.user)
    rest = [{"type": "text", "text": prompt.user[at:]}] if prompt.user[at:] else []
    return [*_cached_block(prompt.user[:at]), *rest]


def _cached_block(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


def _join(blocks: Sequence[Mapping[str, Any]], calls: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the blocks, then the calls of tools; thoughts are omitted."""
    text = "".join(map(_text, blocks))
    return append_calls(text, ((block["name"], block.get("input")) for block in calls))


def _text(block: Mapping[str, Any]) -> str:
    """Return the text of a block; empty for thoughts and calls of tools."""
    if block["type"] == "tool_use" and _is_answer(block):
        given = block["input"]
        # An answer that was cut off in the middle of its JSON is text.
        return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return str(block["text"]) if block["type"] == "text" else ""


def _is_call(block: Mapping[str, Any]) -> bool:
    return block["type"] == "tool_use" and not _is_answer(block)


def _is_answer(block: Mapping[str, Any]) -> bool:
    return bool(block.get("name", TOOL) == TOOL)
