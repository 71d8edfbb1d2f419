"""Plain answers of the model server as the events of a stream, as each protocol documents them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

PIECE = 3
"""Characters of one delta."""


def encode_chunks(answer: Mapping[str, Any]) -> bytes:
    """A chat completion as chunks: role, deltas, reason, usage without a choice, `[DONE]`."""
    shared = {"id": answer.get("id", "chatcmpl-1"), "object": "chat.completion.chunk", "created": 1}
    shared |= {"model": answer.get("model", "big"), "usage": None}
    (choice,) = answer["choices"]

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> str:
        one = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return json.dumps(shared | {"choices": [one]})

    def chunks() -> Iterator[str]:
        message = choice["message"]
        yield chunk({"role": "assistant", "content": "", "refusal": None})
        for name in ("content", "refusal"):
            yield from (chunk({name: piece}) for piece in _pieces(message.get(name) or ""))
        for index, call in enumerate(message.get("tool_calls") or ()):
            function = {"name": call["function"]["name"], "arguments": ""}
            first = {"index": index, "id": call["id"], "type": "function", "function": function}
            yield chunk({"tool_calls": [first]})
            for piece in _pieces(call["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, choice["finish_reason"])
        if answer.get("usage"):
            yield json.dumps(shared | {"choices": [], "usage": answer["usage"]})
        yield "[DONE]"

    return b": comments keep the connection alive\n\n" + b"".join(map(_event, chunks()))


def encode_message(answer: Mapping[str, Any]) -> bytes:
    """A message as events: start, blocks of deltas, pings, the reason with the usage, stop."""
    usage = answer.get("usage") or {}
    begun = {"id": "msg_1", "type": "message", "role": "assistant", "model": "big", **answer}
    begun |= {"content": [], "stop_reason": None, "stop_sequence": None}
    # All tokens that came in are known at the start, those that go out at the end.
    begun["usage"] = usage | {"output_tokens": 1} if usage else {}

    def block_events(index: int, block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        empty: dict[str, Any] = {"text": "", "input": {}, "thinking": ""}
        start = {name: empty.get(name, value) for name, value in block.items()}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        if block["type"] == "tool_use":
            pieces = _pieces(json.dumps(block["input"]))
            deltas = [{"type": "input_json_delta", "partial_json": one} for one in ("", *pieces)]
        else:
            name = block["type"]
            deltas = [{"type": f"{name}_delta", name: one} for one in _pieces(block[name])]
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}

    def events() -> Iterator[dict[str, Any]]:
        yield {"type": "message_start", "message": begun}
        yield {"type": "ping"}
        for index, block in enumerate(answer["content"]):
            yield from block_events(index, block)
        delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        spent = {"output_tokens": usage["output_tokens"]} if usage else {}
        yield {"type": "message_delta", "delta": delta, "usage": spent}
        yield {"type": "message_stop"}

    return b"".join(_event(json.dumps(event), event["type"]) for event in events())


def encode_response(answer: Mapping[str, Any]) -> bytes:
    """A response as events: created, items of deltas, and the whole of it at its end."""

    def item_events(index: int, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        at = {"output_index": index, "item_id": item["id"]}
        begun = {**item, "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        name = "function_call_arguments"
        pieces = _pieces(item.get("arguments", ""))
        for part in item.get("content", ()):
            name = "output_text" if part["type"] == "output_text" else "refusal"
            pieces = _pieces(part.get("text") or part.get("refusal") or "")
        for piece in pieces:
            yield {"type": f"response.{name}.delta", **at, "delta": piece}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}

    def events() -> Iterator[dict[str, Any]]:
        begun = {**answer, "output": [], "status": "in_progress", "usage": None}
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.in_progress", "response": begun}
        for index, item in enumerate(answer["output"]):
            yield from item_events(index, item)
        yield {"type": f"response.{answer['status']}", "response": answer}

    numbered = ({**event, "sequence_number": n} for n, event in enumerate(events()))
    return b"".join(_event(json.dumps(event), event["type"]) for event in numbered)


def _event(data: str, name: str = "") -> bytes:
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {data}\n\n".encode()


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))
