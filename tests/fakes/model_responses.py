"""Answers of the model server in the form of OpenAI's Responses API."""

import json
from collections.abc import Sequence
from typing import Any


def a_response(
    model: str,
    text: str,
    finish: str,
    tokens: tuple[int, int, int],
    calls: Sequence[tuple[str, Any]] = (),
) -> dict[str, Any]:
    """A response; `finish` in the words of chat completions, and text before the calls of tools."""
    sent, written, cached = tokens
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    reason = reasons.get(finish)
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    used = [
        {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "status": "completed",
            "name": name,
            "arguments": given if isinstance(given, str) else json.dumps(given),
        }
        for number, (name, given) in enumerate(calls)
    ]
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    return {
        "id": "resp_1",
        "object": "response",
        "status": "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": f"{model}-2026-01-01",
        "output": [thought, *([message] if text else []), *used],
        "usage": {
            "input_tokens": sent,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": sent + written,
        },
    }
