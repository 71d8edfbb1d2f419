"""Whatever a server answers is an answer or a typed fault, and never another exception."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.model import Completion
from bot.llm.providers.anthropic_messages import AnthropicMessages
from bot.llm.providers.http_chat import HttpChat, Server
from bot.llm.providers.openai_chat import OpenAIChat
from bot.llm.providers.openai_responses import OpenAIResponses
from bot.llm.providers.replies import HttpReply, RequestFailed

WORDS = (
    *(
        "choices",
        "message",
        "content",
        "refusal",
        "finish_reason",
        "model",
        "error",
        "code",
        "type",
        "text",
        "input",
    ),
    *(
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "cost",
    ),
    *(
        "completion_tokens_details",
        "reasoning_tokens",
        "stop_reason",
        "input_tokens",
        "cache_read_input_tokens",
    ),
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.just(10**400)
    | st.floats()
    | st.sampled_from(("stop", "text", "tool_use", "refusal", "/", "\ud800"))
    | st.text(max_size=5)
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
    ),
    max_leaves=20,
)
USAGE = st.dictionaries(st.sampled_from(WORDS), LEAVES, max_size=6) | ANYTHING
OPENAI = st.fixed_dictionaries(
    {
        "choices": st.lists(
            st.fixed_dictionaries({"message": ANYTHING, "finish_reason": ANYTHING}), max_size=2
        )
    },
    optional={"usage": USAGE, "model": ANYTHING, "error": ANYTHING},
)
BLOCK = st.fixed_dictionaries({"type": LEAVES}, optional={"text": ANYTHING, "input": ANYTHING})
ANTHROPIC = st.fixed_dictionaries(
    {"content": st.lists(BLOCK, max_size=3)},
    optional={"usage": USAGE, "model": ANYTHING, "stop_reason": ANYTHING},
)
ITEM = st.fixed_dictionaries(
    {"type": st.sampled_from(("message", "function_call")) | LEAVES},
    optional={
        "content": st.lists(BLOCK, max_size=2) | ANYTHING,
        "name": ANYTHING,
        "arguments": ANYTHING,
    },
)
RESPONSES = st.fixed_dictionaries(
    {"output": st.lists(ITEM, max_size=3)},
    optional={
        "usage": USAGE,
        "model": ANYTHING,
        "status": LEAVES,
        "incomplete_details": ANYTHING,
        "error": ANYTHING,
    },
)


def read(kind: type[HttpChat], content: bytes, headers: dict[str, str] | None = None) -> None:
    chat = kind(Server("http://127.0.0.1:1"), "big")
    try:
        answer = chat._read(HttpReply(200, headers or {}, content))
    except RequestFailed as fault:
        fault.message.encode()
    else:
        Completion.model_validate_json(answer.model_dump_json())
        assert answer.cost_usd is None or math.isfinite(answer.cost_usd)


@pytest.mark.parametrize("kind", [OpenAIChat, OpenAIResponses, AnthropicMessages])
@settings(max_examples=150)
@given(told=ANYTHING | OPENAI | ANTHROPIC | RESPONSES)
def test_any_json_is_an_answer_or_a_fault(kind: type[HttpChat], told: Any) -> None:
    read(kind, json.dumps(told).encode())


@pytest.mark.parametrize("kind", [OpenAIChat, OpenAIResponses, AnthropicMessages])
@settings(max_examples=50)
@given(content=st.binary(max_size=60), said=st.text(max_size=20))
def test_any_bytes_are_a_fault(kind: type[HttpChat], content: bytes, said: str) -> None:
    read(kind, content, {"request-id": said})
