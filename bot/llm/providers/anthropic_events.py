"""Assemble a message of Anthropic's API from its events."""

import json
from typing import Any

from typing_extensions import override

from bot.llm.providers.events import Assembler
from bot.llm.providers.tool_calls import parse_arguments


class MessageEvents(Assembler):
    """Assembles the events of one message; unknown events are ignored, as the API asks."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        """Texts of text blocks and pieces of JSON of tool calls, by index."""
        self._stopped = False
        self._error: Any = None

    @override
    def add(self, data: str) -> bool:
        event = json.loads(data)
        kind = event.get("type")
        if kind == "error":
            self._error = event
        elif kind == "message_start":
            self._message = dict(event["message"])
            self._count(self._message.get("usage"))
        elif kind == "content_block_start":
            self._blocks[event["index"]] = dict(event["content_block"])
            self._pieces[event["index"]] = []
        elif kind == "content_block_delta":
            self.has_begun = True
            delta = event["delta"]
            # Other deltas are thoughts, their signatures and citations.
            name = {"text_delta": "text", "input_json_delta": "partial_json"}.get(delta["type"])
            if name is not None:
                self._pieces[event["index"]].append(delta[name])
        elif kind == "message_delta":
            self._message["stop_reason"] = event["delta"].get("stop_reason")
            self._count(event.get("usage"))
        self._stopped = self._stopped or kind == "message_stop"
        return self._stopped or self._error is not None

    @override
    def build(self) -> Any:
        if self._error is not None:
            return self._error
        if not self._stopped:
            return None
        content = [_merge(block, self._pieces[index]) for index, block in self._blocks.items()]
        return {**self._message, "content": content, "usage": self._usage}

    def _count(self, usage: Any) -> None:
        """Update the usage; later numbers include earlier ones."""
        self._usage |= {name: value for name, value in (usage or {}).items() if value is not None}


def _merge(block: dict[str, Any], pieces: list[str]) -> dict[str, Any]:
    """Return a block with its pieces; a call that was cut off has its arguments as text."""
    if block["type"] == "text":
        return {**block, "text": block.get("text", "") + "".join(pieces)}
    if block["type"] == "tool_use" and pieces and any(pieces):
        return {**block, "input": parse_arguments("".join(pieces))}
    return block
