"""Streams: the same answer as in the plain form, no half answer, and plain requests where refused."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.domain.model import Completion, Finish, ModelTrouble, Prompt, Usage
from bot.domain.model_error import ModelError
from bot.llm.providers.anthropic_messages import AnthropicMessages
from bot.llm.providers.events import EventReader
from bot.llm.providers.http_chat import HttpChat, RetryLimits, Server
from bot.llm.providers.openai_chat import OpenAIChat
from bot.llm.providers.openai_responses import OpenAIResponses
from bot.llm.providers.transport import MOST_STREAMED_BYTES
from tests.fakes.model_server import (
    EVENT_STREAM,
    Asked,
    ModelServer,
    Reply,
    Script,
    calls,
    refuses,
    replies,
    says,
    serving,
)

pytestmark = pytest.mark.anyio

PROMPT = Prompt(system="s", user="u", max_tokens=50)
KINDS = pytest.mark.parametrize("kind", [OpenAIChat, OpenAIResponses, AnthropicMessages])
HURRY = RetryLimits(first_pause_s=0.0, attempts=2)
FORCED = PROMPT.with_(json_schema={"type": "object", "properties": {"a": {"type": "string"}}})


def chat_with(server: ModelServer, kind: type[HttpChat], patience: RetryLimits = HURRY) -> HttpChat:
    url = server.base_url if kind is AnthropicMessages else server.openai_url
    return kind(Server(url, SecretStr("k")), "big", patience)


def events(*told: object, end: str = "\n\n") -> Script:
    """A stream with these events."""
    texts = (one if isinstance(one, str) else json.dumps(one) for one in told)
    body = "".join(f"data: {text}\n\n" for text in texts).removesuffix("\n\n") + end
    return replies(body.encode(), headers={"Content-Type": f"{EVENT_STREAM}; charset=utf-8"})


def chunk(delta: object, reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


async def read(kind: type[HttpChat], *script: Script, prompt: Prompt = PROMPT) -> Completion:
    async with serving(*script) as server:
        return await chat_with(server, kind).complete(prompt, deadline_s=20)


def plain(script: Script) -> Script:
    """The same answer of a server that ignores the request for a stream."""
    return lambda asked: script(Asked(asked.path, asked.headers, {**asked.body, "stream": False}))


@KINDS
@pytest.mark.parametrize(
    ("script", "prompt"),
    [
        (says("Because of caf\u00e9 \U0001f40d.\n\ndata: [DONE]\r\n\r\n", cached=40), PROMPT),
        (says("Hel", finish="length"), PROMPT),
        (says("", finish="content_filter"), PROMPT),
        (says('{"a": "\u00e9"}'), FORCED),
        (calls(("read", {"place": "a.py:1-8"}), ("diff", {}), text="I look."), PROMPT),
    ],
    ids=["text", "cut", "refused", "schema", "calls"],
)
async def test_a_stream_gives_the_answer_of_the_plain_form(
    kind: type[HttpChat], script: Script, prompt: Prompt
) -> None:
    streamed, whole = [await read(kind, one, prompt=prompt) for one in (script, plain(script))]
    assert streamed.with_(latency_s=0.0) == whole.with_(latency_s=0.0)
    assert streamed.usage.output_tokens == 20


@KINDS
async def test_a_model_may_take_longer_than_the_limit_of_silence(kind: type[HttpChat]) -> None:
    slow = says("A long answer in many pieces.", pause_s=0.1)
    patience = RetryLimits(idle_s=1.0, attempts=1)
    async with serving(slow) as server:
        answer = await chat_with(server, kind, patience).complete(PROMPT, deadline_s=60)
    assert answer.text == "A long answer in many pieces."
    assert answer.latency_s > patience.idle_s
    assert len(server.asked) == 1


def paused(pause_s: float, *, before: bytes) -> Script:
    """An answer that stops once, before the first event with a word."""

    def answer(asked: Asked) -> Reply:
        whole = says("Hello. " * 50)(asked)
        start = whole.body[: whole.body.index(before)].rfind(b"\n\n") + 2
        # The server pauses at each `\n\n`: here only at one.
        head, tail = (
            part.replace(b"\n\n", b"\r\n\r\n")
            for part in (whole.body[: start - 2], whole.body[start:])
        )
        return Reply(body=head + b"\n\n" + tail, headers=whole.headers, pause_s=pause_s)

    return answer


@KINDS
@pytest.mark.parametrize("after_s", [0.0, 1.5])
async def test_silence_before_an_answer_is_limited_by_the_deadline_alone(
    kind: type[HttpChat], after_s: float
) -> None:
    """Some servers say nothing while they read and reason; some announce the answer first."""
    patience = RetryLimits(idle_s=0.5, attempts=4, first_pause_s=0.0)
    late = says("Hello. " * 50, after_s=after_s) if after_s else paused(1.5, before=b"Hel")
    async with serving(late) as server:
        answer = await chat_with(server, kind, patience).complete(PROMPT, deadline_s=60)
        assert (answer.text, answer.attempts) == ("Hello. " * 50, 1)
        with pytest.raises(ModelError, match="no answer within 1 s") as raised:
            await chat_with(server, kind, patience).complete(PROMPT, deadline_s=1.0)
    assert (raised.value.trouble, raised.value.attempts) == (ModelTrouble.DEADLINE, 1)
    assert len(server.asked) == 2


@KINDS
async def test_silence_in_an_answer_ends_the_question_and_is_billed_once(
    kind: type[HttpChat],
) -> None:
    def falls_silent(asked: Asked) -> Reply:
        whole = says("Hello. " * 50)(asked)
        return Reply(body=whole.body, headers=whole.headers, stall=len(whole.body) // 2)

    patience = RetryLimits(idle_s=1.0, attempts=4, first_pause_s=0.0)
    async with serving(falls_silent) as server:
        with pytest.raises(ModelError, match="nothing received for 1 s in the middle") as raised:
            await chat_with(server, kind, patience).complete(PROMPT, deadline_s=60)
    assert (raised.value.trouble, raised.value.attempts) == (ModelTrouble.TIMEOUT, 1)
    assert "models.idle_s" in raised.value.advice
    assert len(server.asked) == 1


@KINDS
async def test_a_server_that_does_not_stream_has_the_whole_time(kind: type[HttpChat]) -> None:
    patience = RetryLimits(idle_s=0.6, attempts=1)
    late = says("Hello.", after_s=1.2)
    async with serving(refuses(400, message="stream: not supported"), late) as server:
        answer = await chat_with(server, kind, patience).complete(PROMPT, deadline_s=60)
    assert (answer.text, answer.attempts) == ("Hello.", 2)


@KINDS
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "Streaming is not supported by this deployment"),
        (400, "Your organization must be verified to stream this model."),
        (404, "no route for streamed answers"),
        (422, "stream: Extra inputs are not permitted"),
        (501, "'stream' is not supported"),
        (422, '"loc": ["body", "stream"], "msg": "Extra inputs are not permitted"'),
        (400, '"param": "stream", "code": "unsupported_value"'),
    ],
)
async def test_a_server_that_refuses_to_stream_is_asked_plainly_from_then_on(
    kind: type[HttpChat], status: int, words: str
) -> None:
    def refusing(asked: Asked) -> Reply:
        refusal = replies(f'{{"error": {{"message": "{words}"}}}}'.encode(), status)
        return (refusal if "stream" in asked.body else says())(asked)

    async with serving(refusing) as server:
        chat = chat_with(server, kind)
        attempts = [(await chat.complete(PROMPT, deadline_s=20)).attempts for _ in range(2)]
        assert attempts == [2, 1]
        assert not {"stream", "stream_options"} & server.asked[-1].body.keys()


@KINDS
async def test_a_refusal_that_repeats_the_request_does_not_cost_the_stream(
    kind: type[HttpChat],
) -> None:
    echo = json.dumps({"input": {"model": "big", "stream": True, "user": "not this"}})
    async with serving(refuses(400, message=f"the model is unknown: {echo}")) as server:
        chat = chat_with(server, kind)
        with pytest.raises(ModelError):
            await chat.complete(PROMPT, deadline_s=20)
        assert len(server.asked) == 1
        server.script = [says()]
        await chat.complete(PROMPT, deadline_s=20)
        assert server.asked[-1].body["stream"] is True


async def test_a_server_that_knows_no_options_of_streams_still_streams() -> None:
    def old(asked: Asked) -> Reply:
        words = "Unrecognized request argument supplied: 'stream_options'"
        unfit = "stream_options" in asked.body
        return (refuses(400, message=words) if unfit else says())(asked)

    async with serving(old) as server:
        assert (await chat_with(server, OpenAIChat).complete(PROMPT, deadline_s=20)).attempts == 2
        assert server.asked[-1].body["stream"] is True


@KINDS
async def test_a_failure_while_streaming_is_no_refusal_to_stream(kind: type[HttpChat]) -> None:
    async with serving(refuses(500, message="stream disconnected"), says()) as server:
        await chat_with(server, kind).complete(PROMPT, deadline_s=20)
        assert server.asked[-1].body["stream"] is True


async def test_a_stream_without_usage_is_asked_plainly_next_time() -> None:
    bare = events(chunk({"content": "a"}), chunk({}, "stop"), "[DONE]")
    async with serving(bare) as server:
        chat = chat_with(server, OpenAIChat)
        assert (await chat.complete(PROMPT, deadline_s=20)).usage == Usage()
        server.script = [says()]
        assert (await chat.complete(PROMPT, deadline_s=20)).usage != Usage()
        assert "stream" not in server.asked[-1].body


ENDS = chunk({}, "stop", usage={"prompt_tokens": 7, "completion_tokens": 3})


@pytest.mark.parametrize(
    ("told", "text", "finish"),
    [
        ((chunk({"content": "a"}), chunk({"content": None}), ENDS), "a", Finish.STOP),
        ((chunk({"content": [{"type": "thinking"}, {"type": "text", "text": "a"}]}), ENDS), "a", Finish.STOP),
        ((chunk({"reasoning_content": "hm"}), chunk({"content": "a"}), ENDS, "[DONE]"), "a", Finish.STOP),
        ((chunk({"refusal": "I cannot."}), ENDS), "", Finish.REFUSAL),
        ((chunk({"content": "a"}), {**ENDS, "choices": [{"delta": {}, "finish_reason": "length"}]}), "a", Finish.LENGTH),
        (({"choices": [], "prompt_filter_results": []}, chunk({"content": "a"}), ENDS), "a", Finish.STOP),
        (({"choices": [{"index": 1, "delta": {"content": "b"}}]}, chunk({"content": "a"}), ENDS), "a", Finish.STOP),
    ],
)  # fmt: skip
async def test_chunks_come_in_several_forms(
    told: tuple[object, ...], text: str, finish: Finish
) -> None:
    answer = await read(OpenAIChat, events(*told))
    assert (answer.text, answer.finish) == (text, finish)
    assert answer.usage == Usage(input_tokens=7, output_tokens=3)


async def test_an_answer_may_end_without_a_reason_as_in_the_plain_form() -> None:
    spent = {"prompt_tokens": 7, "completion_tokens": 3}
    told = (chunk({"content": "a"}), {"choices": [], "usage": spent}, "[DONE]")
    whole = {"choices": [{"message": {"content": "a"}}], "usage": spent}
    answers = [await read(OpenAIChat, one) for one in (events(*told), replies(whole))]
    assert [(one.text, one.finish, one.usage) for one in answers] == [
        ("a", Finish.OTHER, Usage(input_tokens=7, output_tokens=3))
    ] * 2


@pytest.mark.parametrize("indexes", [(0, 1), (0, 0), (None, None)])
async def test_calls_are_told_apart_by_index_or_id(indexes: tuple[int | None, ...]) -> None:
    told = []
    for index, (name, place) in zip(indexes, (("read", "a.py"), ("list", "src")), strict=True):
        first: dict[str, Any] = {"id": f"call_{name}", "function": {"name": name, "arguments": ""}}
        arguments = json.dumps({"place": place})
        pieces = [first, *({"function": {"arguments": piece}} for piece in arguments)]
        at: dict[str, Any] = {} if index is None else {"index": index}
        told += [chunk({"tool_calls": [{**at, **piece}]}) for piece in pieces]
    answer = await read(OpenAIChat, events(*told, ENDS))
    assert answer.text == "```tool\nread a.py\nlist src\n```\n"
    assert answer.takes_tools


START: dict[str, Any] = {
    "type": "message_start",
    "message": {"model": "m", "usage": {"input_tokens": 7, "output_tokens": 1}},
}
ENDING = (
    {
        "type": "message_delta",
        "delta": {"stop_reason": "max_tokens"},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
)


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    rest = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [{"type": "content_block_start", "index": index, "content_block": start}, *rest]


async def test_thoughts_and_unknown_events_are_ignored() -> None:
    told = [
        START,
        *block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"}),
        {"type": "event_of_tomorrow", "index": 0},
        *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "a"}),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta"}},
        *ENDING,
    ]  # fmt: skip
    answer = await read(AnthropicMessages, events(*told))
    assert (answer.text, answer.finish, answer.model) == ("a", Finish.LENGTH, "m")
    assert answer.usage == Usage(input_tokens=7, output_tokens=9)


@pytest.mark.parametrize(("name", "text"), [("answer", '{"a": "b'), ("read", '```tool\nread {"a": "b\n```\n')])  # fmt: skip
async def test_a_call_that_was_cut_off_is_kept_as_far_as_it_came(name: str, text: str) -> None:
    use = {"type": "tool_use", "id": "t", "name": name, "input": {}}
    half = {"type": "input_json_delta", "partial_json": '{"a": "b'}
    answer = await read(AnthropicMessages, events(START, *block(0, use, half), *ENDING))
    assert (answer.text, answer.finish) == (text, Finish.LENGTH)


MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "a"}]}


async def test_items_that_came_before_the_last_event_are_taken_if_it_has_none() -> None:
    usage = {"input_tokens": 7, "output_tokens": 3}
    last = {"status": "completed", "output": [], "usage": usage}
    told = (
        {"type": "response.output_item.done", "item": {"type": "reasoning"}},
        {"type": "response.output_item.done", "item": MESSAGE},
        {"type": "response.completed", "response": last},
    )
    answer = await read(OpenAIResponses, events(*told))
    assert (answer.text, answer.finish) == ("a", Finish.STOP)
    assert answer.usage == Usage(input_tokens=7, output_tokens=3)


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
BROKEN: dict[str, tuple[Any, Script, ModelTrouble]] = {
    "no end": (OpenAIChat, events(chunk({"content": "half"})), ModelTrouble.TRANSPORT),
    "done without an answer": (
        OpenAIChat, events(chunk({"role": "assistant", "content": ""}), "[DONE]"), ModelTrouble.TRANSPORT
    ),
    "an event cut off": (
        OpenAIChat, events(chunk({"content": "half"}), ENDS, end=""), ModelTrouble.TRANSPORT
    ),
    "an error": (
        OpenAIChat,
        events(chunk({"content": "half"}), {"error": {"code": 429, "message": "slow down"}}),
        ModelTrouble.RATE_LIMIT,
    ),
    "an error in words": (OpenAIChat, events({"error": "oh"}), ModelTrouble.BAD_RESPONSE),
    "no JSON": (OpenAIChat, events("<html>"), ModelTrouble.BAD_RESPONSE),
    "a number": (OpenAIChat, events(chunk({"content": 7}), ENDS), ModelTrouble.BAD_RESPONSE),
    "no stop": (
        AnthropicMessages,
        events(START, *block(0, {"type": "text", "text": "half"}), ENDING[0]),
        ModelTrouble.TRANSPORT,
    ),
    "overloaded": (AnthropicMessages, events(START, OVERLOADED), ModelTrouble.OVERLOADED),
    "no last event": (
        OpenAIResponses, events({"type": "response.output_item.done", "item": MESSAGE}), ModelTrouble.TRANSPORT
    ),
    "a failure": (
        OpenAIResponses,
        events({"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error"}}}),
        ModelTrouble.TRANSPORT,
    ),
    "too many requests": (
        OpenAIResponses, events({"type": "error", "code": "rate_limit_exceeded", "message": "m"}), ModelTrouble.RATE_LIMIT
    ),
    "a nested error": (
        OpenAIResponses, events({"type": "error", "error": {"type": "server_error"}}), ModelTrouble.TRANSPORT
    ),
    "a delta of no block": (
        AnthropicMessages,
        events(START, *block(0, {"type": "text", "text": ""})[1:], *block(0, {}, {})[1:]),
        ModelTrouble.BAD_RESPONSE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BROKEN))
async def test_a_broken_stream_is_asked_again(name: str) -> None:
    kind, script, trouble = BROKEN[name]
    with pytest.raises(ModelError) as raised:
        await read(kind, script)
    assert (raised.value.trouble, raised.value.attempts) == (trouble, 2)
    answer = await read(kind, script, says("Whole."))
    assert (answer.text, answer.attempts) == ("Whole.", 2)


@KINDS
@pytest.mark.parametrize("cut", [0, 30, 300, 0.5, -1])
async def test_a_connection_lost_in_the_middle_is_asked_again(
    kind: type[HttpChat], cut: float
) -> None:
    def lost(asked: Asked) -> Reply:
        whole = says("Hello.")(asked)
        size = len(whole.body)
        at = int(size * cut) if 0 < cut < 1 else int(cut) if cut >= 0 else size - 30
        return Reply(body=whole.body, headers=whole.headers, cut=at)

    answer = await read(kind, lost, says("Whole."))
    assert (answer.text, answer.attempts) == ("Whole.", 2)


async def test_the_end_of_an_answer_ends_the_wait_for_bytes() -> None:
    whole = events(chunk({"content": "a"}), ENDS, "[DONE]", end="\n\n: open for more")

    def open_for_more(asked: Asked) -> Reply:
        body = whole(asked).body
        return Reply(body=body, headers=whole(asked).headers, stall=len(body) - 5)

    async with asyncio.timeout(30):
        assert (await read(OpenAIChat, open_for_more)).text == "a"


async def test_an_endless_stream_ends_at_the_limit_of_bytes() -> None:
    thought = f"data: {json.dumps(chunk({'reasoning_content': 'x' * 200_000}))}\n\n".encode()
    endless = replies(thought, endless=True, headers={"Content-Type": EVENT_STREAM})
    with pytest.raises(ModelError, match=f"longer than {MOST_STREAMED_BYTES} bytes"):
        await read(OpenAIChat, endless)


def split(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data]


@given(sizes=st.lists(st.integers(1, 9), max_size=60))
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_are_the_same_however_their_bytes_arrive(end: str, sizes: list[int]) -> None:
    lines = [
        "\ufeff: comment", "event: x", "data: caf\u00e9", "data:second", "", "", "id: 1", "data", "data: ", "",
        "retry: 5", "", "data: last", "", "data: never ended",
    ]  # fmt: skip
    reader = EventReader()
    # A lone carriage return at the very end waits for the next byte.
    chunks = split((end.join(lines) + end + "more").encode(), sizes)
    found = [data for chunk in chunks for data in reader.feed(chunk)]
    assert found == ["caf\u00e9\nsecond", "\n", "last"]


def test_a_long_line_is_read_in_linear_time() -> None:
    reader, steps = EventReader(), 200_000
    for _ in range(steps):
        assert not list(reader.feed(b"x" * 20))
    assert not list(reader.feed(b"\n\n"))
