"""What an agent in a sandbox may ask of a model, and what its answers count."""

import json
from typing import Any

import pytest

from bot.domain.model import Usage
from bot.llm.agent_requests import MOST_ANSWER_TOKENS, WIRES, Refused, bounded, usage_in

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
HELLO = {"role": "user", "content": "hello"}


def sent(path: str, **asked: Any) -> dict[str, Any]:
    wire = WIRES["anthropic" if path == MESSAGES else "openai-chat"]
    return bounded(
        json.dumps({"model": "dear", "messages": [HELLO], **asked}).encode(), path, wire, "mine"
    )


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
def test_the_model_is_ours_whatever_is_asked_for(path: str) -> None:
    assert sent(path)["model"] == "mine"


@pytest.mark.parametrize(
    "field",
    [
        "mcp_servers",
        "web_search_options",
        "container",
        "background",
        "prompt",
        "previous_response_id",
        "n",
        "service_tier",
    ],
)
@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
def test_what_is_not_known_to_be_harmless_is_left_out(path: str, field: str) -> None:
    assert field not in sent(path, **{field: 5})


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "web_fetch_20250910", "name": "web_fetch"},
        {"type": "code_execution_20250825", "name": "code_execution"},
        {"type": "web_search"},
        {"type": "mcp", "server_url": "https://evil.example"},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "namespace", "tools": []},
        {"type": ["function"]},
        "web_search",
    ],
    ids=str,
)
def test_a_providers_own_tools_are_left_out_and_the_agents_stay(tool: object) -> None:
    own = {"name": "bash", "description": "runs", "input_schema": {}}
    assert sent(MESSAGES, tools=[own, tool])["tools"] == [own]


def test_without_tools_there_is_no_choice_among_them() -> None:
    kept = sent(CHAT, tools=[{"type": "web_search"}], tool_choice="auto", parallel_tool_calls=True)
    assert not [name for name in kept if "tool" in name]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://evil.example/?secret"}},
        {"type": "input_image", "image_url": "https://evil.example/?secret"},
        {"type": "input_file", "file_url": "https://evil.example"},
        {"type": "file", "file": {"file_id": "f-1"}},
        {"type": "image", "source": {"type": "url", "url": "https://evil.example"}},
        {"type": "document", "source": {"type": "file", "file_id": "f-1"}},
    ],
    ids=str,
)
def test_nothing_is_fetched_by_the_provider(part: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        sent(
            MESSAGES,
            messages=[{"role": "user", "content": [{"type": "tool_result", "content": [part]}]}],
        )


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": "see https://docs.example"},
        {"type": "image", "source": {"type": "base64", "data": "aGk="}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "tool_use", "name": "fetch", "input": {"url": "https://docs.example"}},
    ],
    ids=str,
)
def test_what_stands_in_the_request_itself_goes_on(part: dict[str, Any]) -> None:
    assert sent(MESSAGES, messages=[{"role": "user", "content": [part]}])["messages"][0][
        "content"
    ] == [part]


@pytest.mark.parametrize(
    ("path", "asked", "field", "most"),
    [
        (MESSAGES, {"max_tokens": 500}, "max_tokens", 500),
        (MESSAGES, {"max_tokens": 10**9}, "max_tokens", MOST_ANSWER_TOKENS),
        (MESSAGES, {}, "max_tokens", MOST_ANSWER_TOKENS),
        (CHAT, {"max_tokens": True}, "max_tokens", MOST_ANSWER_TOKENS),
        (CHAT, {}, "max_completion_tokens", MOST_ANSWER_TOKENS),
        (RESPONSES, {"max_output_tokens": -1}, "max_output_tokens", MOST_ANSWER_TOKENS),
    ],
)
def test_every_answer_is_bounded(path: str, asked: dict[str, Any], field: str, most: int) -> None:
    assert sent(path, **asked)[field] == most


def test_what_is_asked_is_not_stored_and_is_counted() -> None:
    assert sent(RESPONSES, store=True)["store"] is False
    assert sent(CHAT, stream=True)["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("body", [b"", b"[1]", b"\xff", b"[" * 100_000, b'{"messages": '])
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(Refused):
        bounded(body, CHAT, WIRES["openai-chat"], "mine")


def test_messages_may_be_nested_deeply() -> None:
    deep: object = "x"
    for _ in range(500):
        deep = [deep]
    assert sent(CHAT, messages=[deep])["messages"]


def test_usage_of_a_whole_answer() -> None:
    details = {
        "prompt_tokens_details": {"cached_tokens": 30},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    content = json.dumps(
        {"usage": {"prompt_tokens": 100, "completion_tokens": 20, **details}}
    ).encode()
    assert usage_in(content) == Usage(
        input_tokens=100, output_tokens=20, cache_read_tokens=30, reasoning_tokens=5
    )


def test_usage_of_anthropics_stream() -> None:
    start = {
        "input_tokens": 50,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 500,
    }
    events = [
        {"type": "message_start", "message": {"usage": {**start, "output_tokens": 1}}},
        {"type": "content_block_delta", "delta": {"text": '"usage"'}},
        {"type": "message_delta", "usage": {"output_tokens": 42}},
    ]
    stream = "".join(f"event: e\ndata: {json.dumps(event)}\n\n" for event in events).encode()
    expected = Usage(
        input_tokens=1550, output_tokens=42, cache_read_tokens=1000, cache_write_tokens=500
    )
    assert usage_in(stream) == expected


def test_usage_of_a_stream_of_responses() -> None:
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 9}
    stream = f"data: {json.dumps({'type': 'response.completed', 'response': {'usage': usage}})}\n\ndata: [DONE]\n"
    assert usage_in(stream.encode()) == Usage(
        input_tokens=100, output_tokens=9, cache_read_tokens=40
    )


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>", b'{"usage": 5}', b'data: {"usage"', b'{"usage": {"input_tokens": -1}}'],
)
def test_an_answer_that_counts_nothing_counts_nothing(content: bytes) -> None:
    assert usage_in(content) == Usage()
