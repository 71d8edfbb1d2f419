"""OpenAI's Responses API, for OpenAI and compatible servers such as vLLM, Ollama or llama.cpp."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from typing_extensions import override

from bot.domain.model import Completion, Finish, Prompt, Usage
from bot.llm.providers.events import Assembler
from bot.llm.providers.http_chat import HttpChat
from bot.llm.providers.openai_chat import is_strict
from bot.llm.providers.replies import count
from bot.llm.providers.tool_calls import append_calls, parse_arguments

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
"""Events whose response is the whole answer."""
_REASONS = {"max_output_tokens": Finish.LENGTH, "content_filter": Finish.REFUSAL}


class ResponseEvents(Assembler):
    """Takes the whole answer from the last event; some servers send its items only before."""

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._answer: Any = None

    @override
    def add(self, data: str) -> bool:
        event = json.loads(data)
        kind = event.get("type")
        if kind == "error":
            # Some servers nest the error.
            self._answer = {"error": event.get("error") or event}
        elif kind in _ENDS:
            self._answer = event["response"]
            if not self._answer.get("output"):
                self._answer["output"] = self._items
        elif kind == "response.output_item.done":
            self._items.append(event["item"])
        self.has_begun = self.has_begun or str(kind).endswith(".delta")
        return self._answer is not None

    @override
    def build(self) -> Any:
        return self._answer


class OpenAIResponses(HttpChat):
    """Calls `POST {base}/responses`. The API has neither seeds nor stop sequences."""

    kind = "openai-responses"
    path = "/responses"
    schema_parameter = "text"
    optional: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (),
        "text": (),
        "tools": (),
        "store": (),
    }
    assembler = ResponseEvents

    @override
    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """Return an answer within the deadline, with retries.

        Raises:
            ModelError: There was no usable answer.
        """
        answer = await super().complete(prompt, deadline_s=deadline_s)
        used_up = answer.usage.output_tokens >= prompt.max_tokens
        if answer.finish is Finish.STOP and used_up:
            # Some servers, such as llama.cpp, call an answer completed that was cut off.
            return answer.with_(finish=Finish.LENGTH)
        return answer

    @override
    def _body(self, prompt: Prompt) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "instructions": prompt.system,
            "input": prompt.user,
            "max_output_tokens": prompt.max_tokens,
            # Otherwise the provider keeps prompt and answer for weeks.
            "store": False,
        }
        if prompt.temperature is not None:
            body["temperature"] = prompt.temperature
        if prompt.json_schema is not None:
            schema = {
                "type": "json_schema",
                "name": "answer",
                "strict": is_strict(prompt.json_schema),
                "schema": prompt.json_schema,
            }
            body["text"] = {"format": schema}
        if prompt.tools:
            # Here, unlike in chat completions, tools are strict unless the request says otherwise.
            body["tools"] = [
                {"type": "function", "strict": False, **tool.model_dump()} for tool in prompt.tools
            ]
        return body

    @override
    def _answer(self, data: Any) -> Completion:
        items = data["output"]
        parts = [part for item in items if item["type"] == "message" for part in item["content"]]
        text = "".join(part["text"] for part in parts if part["type"] == "output_text")
        calls = tuple(_calls(items))
        return Completion(
            text=append_calls(text, calls),
            finish=_finish(data, parts),
            usage=_usage(data.get("usage") or {}),
            model=str(data.get("model") or ""),
            takes_tools=True if calls else None,
        )


def _calls(items: Any) -> Iterator[tuple[object, object]]:
    for item in items:
        if item["type"] == "function_call":
            yield item["name"], parse_arguments(item.get("arguments"))


def _finish(data: Any, parts: Any) -> Finish:
    if any(part["type"] == "refusal" for part in parts):
        return Finish.REFUSAL
    status = data.get("status")
    if status == "incomplete":
        reason = (data.get("incomplete_details") or {}).get("reason")
        return _REASONS.get(reason or "", Finish.OTHER)
    return Finish.STOP if status == "completed" else Finish.OTHER


def _usage(data: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=count(data.get("input_tokens")),
        output_tokens=count(data.get("output_tokens")),
        cache_read_tokens=count((data.get("input_tokens_details") or {}).get("cached_tokens")),
        reasoning_tokens=count((data.get("output_tokens_details") or {}).get("reasoning_tokens")),
    )
