"""The two wire formats: what is sent, what is read from an answer, and what is learnt of a server."""

import asyncio
import json
from typing import Any

import pytest
from pydantic import SecretStr

from bot.domain.model import Completion, Finish, ModelTrouble, Prompt, Usage
from bot.domain.model_error import ModelError
from bot.llm.providers.anthropic_messages import AnthropicMessages
from bot.llm.providers.http_chat import HttpChat, Learned, RetryLimits, Server
from bot.llm.providers.openai_chat import OpenAIChat, is_strict
from bot.llm.providers.openai_responses import OpenAIResponses
from tests.fakes.model_server import Asked, ModelServer, Reply, refuses, replies, says, serving

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
PROMPT = Prompt(
    system="Be brief.",
    user="Why?",
    max_tokens=50,
    temperature=1.5,
    stop=("END",),
    seed=7,
    json_schema=SCHEMA,
)


def openai(server: ModelServer, learned: Learned | None = None, model: str = "big") -> HttpChat:
    return OpenAIChat(
        Server(server.openai_url, SecretStr("k-1")), model, RetryLimits(first_pause_s=0.0), learned
    )


def anthropic(server: ModelServer, learned: Learned | None = None) -> HttpChat:
    return AnthropicMessages(
        Server(server.base_url, SecretStr("k-1")), "big", RetryLimits(first_pause_s=0.0), learned
    )


def responses(server: ModelServer, learned: Learned | None = None) -> HttpChat:
    return OpenAIResponses(
        Server(server.openai_url, SecretStr("k-1")), "big", RetryLimits(first_pause_s=0.0), learned
    )


async def sent_by(chat: HttpChat, server: ModelServer, prompt: Prompt = PROMPT) -> dict[str, Any]:
    await chat.complete(prompt, deadline_s=5)
    return dict(server.asked[-1].body)


async def read_from(body: object, kind: type[HttpChat] = OpenAIChat) -> Completion:
    async with serving(replies(body)) as server:
        makings = {OpenAIChat: openai, AnthropicMessages: anthropic, OpenAIResponses: responses}
        chat = makings[kind](server)
        return await chat.complete(PROMPT, deadline_s=5)


async def test_openai_is_asked_in_its_format() -> None:
    async with serving(says('{"a": "b"}'), key="k-1") as server:
        assert await sent_by(openai(server), server) == {
            "model": "big",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Why?"},
            ],
            "max_tokens": 50,
            "temperature": 1.5,
            "seed": 7,
            "stop": ["END"],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
            },
            "stream": True,
            "stream_options": {"include_usage": True},
        }


async def test_anthropic_is_asked_in_its_format() -> None:
    async with serving(says('{"a": "b"}'), key="k-1") as server:
        assert await sent_by(anthropic(server), server) == {
            "model": "big",
            "system": "Be brief.",
            "messages": [{"role": "user", "content": "Why?"}],
            "max_tokens": 50,
            "temperature": 1.0,
            "stop_sequences": ["END"],
            "tools": [{"name": "answer", "description": "The answer.", "input_schema": SCHEMA}],
            "tool_choice": {"type": "tool", "name": "answer"},
            "stream": True,
        }


async def test_responses_are_asked_for_in_their_format_and_never_stored() -> None:
    async with serving(says('{"a": "b"}'), key="k-1") as server:
        assert await sent_by(responses(server), server) == {
            "model": "big",
            "instructions": "Be brief.",
            "input": "Why?",
            "max_output_tokens": 50,
            "temperature": 1.5,
            "store": False,
            "text": {
                "format": {
                    "type": "json_schema",
                    "name": "answer",
                    "strict": True,
                    "schema": SCHEMA,
                }
            },
            "stream": True,
        }


async def test_what_is_not_asked_for_is_not_sent() -> None:
    async with serving() as server:
        bare = Prompt(system="s", user="u", max_tokens=9)
        assert (await sent_by(openai(server), server, bare)).keys() == {
            "model",
            "messages",
            "max_tokens",
            "stream",
            "stream_options",
        }
        assert (await sent_by(anthropic(server), server, bare)).keys() == {
            "model",
            "system",
            "messages",
            "max_tokens",
            "stream",
        }


async def test_anthropic_is_asked_to_keep_a_prompt_that_comes_again() -> None:
    async with serving() as server:
        again = Prompt(system="s", user="u", cache=True)
        sent = await sent_by(anthropic(server), server, again)
        kept = {"type": "text", "cache_control": {"type": "ephemeral"}}
        assert sent["system"] == [kept | {"text": "s"}]
        assert sent["messages"][0]["content"] == [kept | {"text": "u"}]
        assert (server.asked[-1].system, server.asked[-1].user) == ("s", "u")
        assert "cache_control" not in json.dumps(await sent_by(openai(server), server, again))
        steps = again.with_(user="known, new", stable=6)
        sent = await sent_by(anthropic(server), server, steps)
        assert sent["messages"][0]["content"] == [
            kept | {"text": "known,"},
            {"type": "text", "text": " new"},
        ]


async def test_without_a_key_none_is_sent() -> None:
    async with serving() as server:
        bare = Prompt(system="s", user="u")
        await OpenAIChat(Server(server.openai_url), "m").complete(bare, deadline_s=5)
        await AnthropicMessages(Server(server.base_url), "m").complete(bare, deadline_s=5)
        assert not any(
            {"authorization", "x-api-key"} & asked.headers.keys() for asked in server.asked
        )


async def test_halves_of_characters_are_neither_sent_nor_read() -> None:
    said = rb'{"choices": [{"finish_reason": "stop", "message": {"content": "half \ud83d."}}]}'
    async with serving(replies(said)) as server:
        chat = openai(server)
        answer = await chat.complete(
            Prompt(system="\udcff", user="caf\u00e9 \U0001f40d \ud800"), deadline_s=5
        )
        assert answer.text == "half ?."
        assert (server.asked[0].system, server.asked[0].user) == ("?", "caf\u00e9 \U0001f40d ?")


@pytest.mark.parametrize("make", [openai, anthropic, responses])
async def test_cached_tokens_are_among_those_that_came_in_whatever_the_server_says(
    make: Any,
) -> None:
    async with serving(
        says(tokens=(1500, 200), cached=500, headers={"Request-Id": "req_1"})
    ) as server:
        answer = await make(server).complete(Prompt(system="s", user="u"), deadline_s=5)
    assert answer.usage == Usage(input_tokens=1500, output_tokens=200, cache_read_tokens=500)
    assert (answer.model, answer.request_id, answer.attempts, answer.cost_usd) == (
        "big-2026-01-01",
        "req_1",
        1,
        None,
    )
    assert 0 < answer.latency_s < 5


async def test_what_anthropic_wrote_to_its_cache_came_in_too() -> None:
    usage = {
        "input_tokens": 1000,
        "output_tokens": 200,
        "cache_creation_input_tokens": 50,
        "cache_read_input_tokens": 500,
    }
    told = {"content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn", "usage": usage}
    assert (await read_from(told, AnthropicMessages)).usage == Usage(
        input_tokens=1550, output_tokens=200, cache_read_tokens=500, cache_write_tokens=50
    )


async def test_thoughts_that_are_only_in_the_total_are_paid_for() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 115,
        "completion_tokens_details": {"reasoning_tokens": 100},
    }
    told = {"choices": [{"message": {"content": "a"}}], "usage": usage}
    assert (await read_from(told)).usage == Usage(
        input_tokens=10, output_tokens=105, reasoning_tokens=100
    )


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": -4, "completion_tokens": "many"}]
)
async def test_a_server_may_say_nothing_of_tokens(usage: object) -> None:
    answer = await read_from(
        {"choices": [{"finish_reason": "stop", "message": {"content": "a"}}], "usage": usage}
    )
    assert (answer.usage, answer.model) == (Usage(), "big")


@pytest.mark.parametrize(
    ("cost", "known"), [(0.25, 0.25), (0, 0.0), (-1, None), ("1", None), (1e999, None)]
)
async def test_a_server_that_says_what_it_costs_is_believed(
    cost: object, known: float | None
) -> None:
    told = {"choices": [{"message": {"content": "a"}}], "usage": {"cost": cost}}
    assert (await read_from(told)).cost_usd == known


@pytest.mark.parametrize(
    ("choice", "text", "finish"),
    [
        ({"finish_reason": "stop", "message": {"content": "a"}}, "a", Finish.STOP),
        ({"finish_reason": "length", "message": {"content": None}}, "", Finish.LENGTH),
        ({"finish_reason": "content_filter", "message": {"content": ""}}, "", Finish.REFUSAL),
        (
            {"finish_reason": "stop", "message": {"content": None, "refusal": "I cannot."}},
            "",
            Finish.REFUSAL,
        ),
        ({"finish_reason": "tool_calls", "message": {"content": "a"}}, "a", Finish.STOP),
        ({"message": {"content": "a"}}, "a", Finish.OTHER),
        (
            {
                "finish_reason": "stop",
                "message": {"content": [{"type": "thinking"}, {"type": "text", "text": "a"}]},
            },
            "a",
            Finish.STOP,
        ),
    ],
)
async def test_openai_answers_in_several_forms(
    choice: dict[str, Any], text: str, finish: Finish
) -> None:
    answer = await read_from({"choices": [choice]})
    assert (answer.text, answer.finish) == (text, finish)


@pytest.mark.parametrize(
    ("blocks", "reason", "text", "finish"),
    [
        (
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "end_turn",
            "ab",
            Finish.STOP,
        ),
        (
            [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "b"}],
            "stop_sequence",
            "b",
            Finish.STOP,
        ),
        (
            [{"type": "tool_use", "input": {"a": "\u00e9"}}],
            "tool_use",
            '{"a": "\u00e9"}',
            Finish.STOP,
        ),
        ([], "max_tokens", "", Finish.LENGTH),
        ([], "refusal", "", Finish.REFUSAL),
        ([], "pause_turn", "", Finish.OTHER),
        ([], None, "", Finish.OTHER),
    ],
)
async def test_anthropic_answers_in_blocks(
    blocks: list[Any], reason: str | None, text: str, finish: Finish
) -> None:
    answer = await read_from({"content": blocks, "stop_reason": reason}, AnthropicMessages)
    assert (answer.text, answer.finish) == (text, finish)


def said(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "content": list(parts)}


@pytest.mark.parametrize(
    ("more", "text", "finish"),
    [
        ({"output": [said({"type": "output_text", "text": "a"})]}, "a", Finish.STOP),
        ({"output": [{"type": "reasoning"}, said({"type": "output_text", "text": "a"})]}, "a", Finish.STOP),
        ({"output": [said({"type": "output_text", "text": "a"}), said({"type": "output_text", "text": "b"})]}, "ab", Finish.STOP),
        ({"output": [said({"type": "refusal", "refusal": "I cannot."})]}, "", Finish.REFUSAL),
        ({"output": [], "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "", Finish.LENGTH),
        ({"output": [], "status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "", Finish.REFUSAL),
        ({"output": [], "status": "incomplete", "incomplete_details": None}, "", Finish.OTHER),
        ({"output": [], "status": "cancelled"}, "", Finish.OTHER),
    ],
)  # fmt: skip
async def test_responses_answer_in_items(more: dict[str, Any], text: str, finish: Finish) -> None:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 40,
        "output_tokens_details": {"reasoning_tokens": 30},
    }
    told = {"status": "completed", "error": None, "usage": usage, **more}
    answer = await read_from(told, OpenAIResponses)
    assert (answer.text, answer.finish) == (text, finish)
    assert answer.usage == Usage(
        input_tokens=100, output_tokens=40, cache_read_tokens=40, reasoning_tokens=30
    )


async def test_a_response_that_used_all_its_tokens_was_cut_off() -> None:
    async with serving(says("Hel", tokens=(100, 50))) as server:
        answer = await responses(server).complete(PROMPT.with_(json_schema=None), deadline_s=20)
    assert answer.finish is Finish.LENGTH


async def test_a_response_that_failed_is_asked_for_again() -> None:
    failed = {"status": "failed", "output": [], "error": {"code": "server_error", "message": "m"}}
    async with serving(replies(failed), says("Whole.")) as server:
        answer = await responses(server).complete(PROMPT.with_(json_schema=None), deadline_s=20)
    assert (answer.text, answer.attempts) == ("Whole.", 2)


def newest(asked: Asked) -> Reply:
    """Takes neither `max_tokens` nor a temperature, and says so one at a time."""
    if "max_tokens" in asked.body:
        return refuses(
            400, message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        )(asked)
    if "temperature" in asked.body:
        return refuses(
            400, message="Unsupported value: 'temperature' does not support 1.5, only the default."
        )(asked)
    return says('{"a": "b"}')(asked)


async def test_a_server_teaches_what_it_takes_once_for_everyone_who_asks_that_model() -> None:
    learned: Learned = {}
    async with serving(newest) as server:
        answer = await openai(server, learned).complete(PROMPT, deadline_s=5)
        assert answer.attempts == len(server.asked) == 3
        assert (await openai(server, learned).complete(PROMPT, deadline_s=5)).attempts == 1
        assert server.asked[-1].body["max_completion_tokens"] == 50
        assert (await openai(server, learned, "other").complete(PROMPT, deadline_s=5)).attempts == 3


async def test_what_a_server_takes_is_learnt_for_each_wire_format() -> None:
    learned: Learned = {}
    async with serving(newest) as server:
        await responses(server, learned).complete(PROMPT, deadline_s=5)
        await openai(server, learned).complete(PROMPT, deadline_s=5)
        assert server.asked[-1].body["max_completion_tokens"] == 50


async def test_many_who_learn_at_once_all_get_their_answer() -> None:
    async with serving(newest) as server:
        chat = openai(server)
        answers = await asyncio.gather(*(chat.complete(PROMPT, deadline_s=5) for _ in range(8)))
    assert [answer.text for answer in answers] == ['{"a": "b"}'] * 8


@pytest.mark.parametrize(
    ("make", "status", "words"),
    [
        (openai, 400, "response_format: not supported"),
        (
            openai,
            404,
            "No endpoints found that can handle the requested 'response_format': not supported",
        ),
        (anthropic, 500, "tools param requires --jinja flag"),
        (responses, 400, "Unsupported parameter: 'text.format' is not supported with this model."),
    ],
)
async def test_a_server_that_takes_no_schema_is_asked_without_one(
    make: Any, status: int, words: str
) -> None:
    def plain(asked: Asked) -> Reply:
        held = {"tools", "response_format", "text"} & asked.body.keys()
        return (refuses(status, message=words) if held else says("Because."))(asked)

    async with serving(plain) as server:
        chat = make(server)
        assert chat.can_hold_to_schema
        assert (await chat.complete(PROMPT, deadline_s=5)).text == "Because."
        assert not chat.can_hold_to_schema
        assert (await chat.complete(PROMPT, deadline_s=5)).attempts == 1


async def test_a_refusal_that_teaches_nothing_is_final() -> None:
    async with serving(refuses(400, message="Unsupported parameter: 'model'")) as server:
        with pytest.raises(ModelError) as raised:
            await openai(server).complete(PROMPT, deadline_s=5)
    assert (raised.value.trouble, len(server.asked)) == (ModelTrouble.BAD_REQUEST, 1)


def test_pauses_double_up_to_a_limit_and_differ() -> None:
    patience = RetryLimits()
    for failed, most in ((1, 0.5), (2, 1.0), (5, 8.0), (1000, 8.0)):
        pauses = {patience.pause_s(failed) for _ in range(40)}
        assert all(most * 0.75 <= pause <= most for pause in pauses)
        assert len(pauses) > 1


async def test_a_chat_shows_neither_key_nor_address() -> None:
    async with serving() as server:
        for chat in (openai(server), anthropic(server)):
            shown = repr(chat) + str(vars(chat)["_server"].key)
            assert "k-1" not in shown
            assert chat.name == f"{chat.kind}:big"


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (SCHEMA, True),
        (SCHEMA | {"additionalProperties": True}, False),
        (SCHEMA | {"required": []}, False),
        ({"type": "object"}, False),
        (SCHEMA | {"properties": {"a": {"type": "array", "items": {"type": "object"}}}}, False),
        (SCHEMA | {"properties": {"a": {"anyOf": [SCHEMA, {"type": "null"}]}}}, True),
        (SCHEMA | {"$defs": {"B": {"type": "object", "properties": {"b": {}}}}}, False),
    ],
)
def test_only_closed_schemas_with_all_required_are_strict(
    schema: dict[str, Any],
    strict: bool,  # noqa: FBT001
) -> None:
    assert is_strict(schema) is strict


@pytest.mark.parametrize(
    ("said", "model"),
    [
        ("/models/q4.gguf", "q4.gguf"),
        ("google/gemini", "google/gemini"),
        ("", "big"),
        (None, "big"),
        ("/", "big"),
    ],
)
async def test_the_path_of_a_model_is_not_told(said: str | None, model: str) -> None:
    assert (
        await read_from({"model": said, "choices": [{"message": {"content": "a"}}]})
    ).model == model


async def test_no_server_can_say_more_tokens_than_the_ledger_holds() -> None:
    told = {
        "choices": [{"message": {"content": "a"}}],
        "usage": {"prompt_tokens": 10**30, "completion_tokens": 10**30},
    }
    assert (await read_from(told)).usage == Usage(input_tokens=10**9, output_tokens=10**9)
