"""OpenAI's chat completions at any base URL, such as Azure, Gemini, OpenRouter, vLLM or Ollama."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from typing_extensions import override

from bot.domain.model import Completion, Finish, Prompt, Usage
from bot.llm.providers.http_chat import HttpChat
from bot.llm.providers.openai_chunks import ChatChunks
from bot.llm.providers.replies import amount, count
from bot.llm.providers.tool_calls import append_calls, parse_arguments

BASE_URL = "https://api.openai.com/v1"

_FINISHES = {
    "stop": Finish.STOP,
    "tool_calls": Finish.STOP,
    "length": Finish.LENGTH,
    "content_filter": Finish.REFUSAL,
}


class OpenAIChat(HttpChat):
    """Calls `POST {base}/chat/completions`."""

    kind = "openai-chat"
    path = "/chat/completions"
    schema_parameter = "response_format"
    optional: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (),
        "seed": (),
        "stop": (),
        "response_format": (),
        "tools": (),
    }
    renames: ClassVar[Mapping[str, str]] = {"max_tokens": "max_completion_tokens"}
    streaming: ClassVar[Mapping[str, Any]] = {
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assembler = ChatChunks

    @override
    def _body(self, prompt: Prompt) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            "max_tokens": prompt.max_tokens,
            "temperature": prompt.temperature,
            "seed": prompt.seed,
            "stop": list(prompt.stop) or None,
        }
        if prompt.json_schema is not None:
            schema = {
                "name": "answer",
                "strict": is_strict(prompt.json_schema),
                "schema": prompt.json_schema,
            }
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if prompt.tools:
            body["tools"] = [
                {"type": "function", "function": tool.model_dump()} for tool in prompt.tools
            ]
        return {name: value for name, value in body.items() if value is not None}

    @override
    def _answer(self, data: Any) -> Completion:
        choice = data["choices"][0]
        message = choice["message"]
        refused = bool(message.get("refusal"))
        finish = _FINISHES.get(choice.get("finish_reason") or "", Finish.OTHER)
        usage = data.get("usage") or {}
        calls = tuple(_calls(message.get("tool_calls")))
        return Completion(
            text=append_calls(_text(message.get("content")), calls),
            finish=Finish.REFUSAL if refused else finish,
            usage=_usage(usage),
            model=str(data.get("model") or ""),
            cost_usd=amount(usage.get("cost")),  # OpenRouter reports the cost
            takes_tools=True if calls else None,
        )


def is_strict(schema: Any) -> bool:
    """Return True for strict schemas: closed objects with all properties required.

    Args:
        schema: A schema or a part of it.
    """
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict):
        closed = schema.get("additionalProperties") is False and set(
            schema.get("required", ())
        ) == set(properties)
        return closed and all(map(is_strict, [*properties.values(), schema.get("$defs")]))
    return schema.get("type") != "object" and all(map(is_strict, schema.values()))


def _text(content: Any) -> str:
    """Return the text of a message or its parts; thoughts are omitted."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _calls(calls: Any) -> Iterator[tuple[object, object]]:
    for call in calls or ():
        function = call["function"]
        yield function["name"], parse_arguments(function.get("arguments"))


def _usage(data: Mapping[str, Any]) -> Usage:
    """Read the usage; some servers count thoughts only in the total, and they are billed."""
    sent = count(data.get("prompt_tokens"))
    return Usage(
        input_tokens=sent,
        output_tokens=max(
            count(data.get("completion_tokens")), count(data.get("total_tokens")) - sent
        ),
        cache_read_tokens=count((data.get("prompt_tokens_details") or {}).get("cached_tokens")),
        reasoning_tokens=count(
            (data.get("completion_tokens_details") or {}).get("reasoning_tokens")
        ),
    )
