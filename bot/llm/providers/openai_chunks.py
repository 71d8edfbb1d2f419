"""Assemble a chat completion from its chunks."""

import json
from typing import Any

from typing_extensions import override

from bot.llm.providers.events import Assembler

_DONE = "[DONE]"


class ChatChunks(Assembler):
    """Assembles the chunks of one chat completion."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        """Texts, and parts of servers that send lists of them."""
        self._refusal: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._call_at: dict[object, dict[str, Any]] = {}
        """The newest tool call of each index."""
        self._reasons: dict[str, Any] = {}
        self._usage: Any = None
        self._model: Any = None
        self._error: Any = None
        self._is_done = False

    @override
    def add(self, data: str) -> bool:
        if data == _DONE:
            self._is_done = True
            return True
        chunk = json.loads(data)
        if chunk.get("error"):
            self._error = chunk
            return True
        self._model = chunk.get("model") or self._model
        # The last chunk has the usage and no choice.
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            # Only one answer was asked for.
            if not choice.get("index"):
                self._add_choice(choice)
        return False

    @override
    def build(self) -> Any:
        if self._error is not None:
            return self._error
        # Some servers end an answer without a reason, as some do in the plain form.
        if not self._reasons and not (self._is_done and self.has_begun):
            return None
        is_text = all(isinstance(part, str) for part in self._parts)
        message = {
            "content": "".join(self._parts) if is_text else list(map(_part, self._parts)),
            "refusal": "".join(self._refusal) or None,
            "tool_calls": [
                {"function": {part: "".join(call[part]) for part in ("name", "arguments")}}
                for call in self._calls
            ],
        }
        return {
            "model": self._model,
            "choices": [{**self._reasons, "message": message}],
            "usage": self._usage,
        }

    def _add_choice(self, choice: Any) -> None:
        if choice.get("finish_reason"):
            self._reasons = {"finish_reason": choice["finish_reason"]}
        delta = choice.get("delta") or {}
        # A first chunk has the role only. Thoughts come under names of their own.
        is_part = any(value for name, value in delta.items() if name != "role")
        self.has_begun = self.has_begun or is_part
        content = delta.get("content")
        self._parts += [content] if isinstance(content, str) else content or ()
        self._refusal.append(delta.get("refusal") or "")
        for call in delta.get("tool_calls") or ():
            self._add_call(call)

    def _add_call(self, piece: Any) -> None:
        """Add a piece of a tool call; only the first one has the call's name."""
        index, name = piece.get("index"), piece.get("id")
        known = self._call_at.get(index)
        # Some servers send every call with the same index.
        if known is None or (name and known["id"] not in {None, name}):
            known = {"id": None, "name": [], "arguments": []}
            self._calls.append(known)
            self._call_at[index] = known
        known["id"] = known["id"] or name
        function = piece.get("function") or {}
        known["name"].append(function.get("name") or "")
        known["arguments"].append(function.get("arguments") or "")


def _part(part: Any) -> Any:
    return {"type": "text", "text": part} if isinstance(part, str) else part
