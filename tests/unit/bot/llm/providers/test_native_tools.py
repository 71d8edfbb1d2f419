"""Native tool calls: offered if a server accepts them, and converted to the text of other models."""

from typing import Any

import pytest
from pydantic import SecretStr

from bot.domain.account import ModelLimits
from bot.domain.model import Finish, Prompt
from bot.domain.model_error import ModelError
from bot.fixers.rung2_model.agent_answer import ToolCall, parse_answer
from bot.fixers.rung2_model.agent_tools import TOOLS
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.ledger.calls import CallLedger
from bot.llm.providers.anthropic_messages import AnthropicMessages
from bot.llm.providers.http_chat import HttpChat, RetryLimits, Server
from bot.llm.providers.openai_chat import OpenAIChat
from bot.llm.providers.openai_responses import OpenAIResponses
from bot.llm.providers.replay import hash_prompt
from tests.databases import a_database
from tests.fakes.model_server import (
    Asked,
    ModelServer,
    Reply,
    Script,
    calls,
    refuses,
    says,
    serving,
)
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.scripted_trials import ScriptedTrials, passed
from tests.unit.bot.fixers.rung2_model.climbs import FIX_ADD, Climb, minds_with

pytestmark = pytest.mark.anyio

PROMPT = Prompt(system="s", user="u", tools=TOOLS)
SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
KINDS = pytest.mark.parametrize("kind", [OpenAIChat, OpenAIResponses, AnthropicMessages])


def chat_with(server: ModelServer, kind: type[HttpChat]) -> HttpChat:
    url = server.base_url if kind is AnthropicMessages else server.openai_url
    return kind(Server(url, SecretStr("k")), "big", RetryLimits(first_pause_s=0.0))


async def read_calls(kind: type[HttpChat], script: Script) -> tuple[ToolCall | str, ...]:
    async with serving(script) as server:
        answer = await chat_with(server, kind).complete(PROMPT, deadline_s=5)
    assert answer.finish is Finish.STOP
    return parse_answer(answer.text).parts


async def test_tools_are_offered_in_each_format_and_never_forced() -> None:
    async with serving() as server:
        for kind in (OpenAIChat, AnthropicMessages, OpenAIResponses):
            await chat_with(server, kind).complete(PROMPT, deadline_s=5)
    first, second, third = (asked.body for asked in server.asked)
    assert [one["function"]["name"] for one in first["tools"]] == [one.name for one in TOOLS]
    assert first["tools"][1]["function"]["parameters"] == TOOLS[1].parameters
    assert {one["name"]: one["input_schema"] for one in second["tools"]} == {
        one.name: one.parameters for one in TOOLS
    }
    assert {one["name"]: one["parameters"] for one in third["tools"]} == {
        one.name: one.parameters for one in TOOLS
    }
    assert {(one["type"], one["strict"]) for one in third["tools"]} == {("function", False)}
    assert not {"tool_choice", "parallel_tool_calls"} & (
        first.keys() | second.keys() | third.keys()
    )


@KINDS
async def test_calls_are_read_like_those_of_a_text(kind: type[HttpChat]) -> None:
    made = [
        ("read", {"place": "calc.py:1-8"}),
        ("search", {"text": '"quoted"'}),
        ("diff", {}),
        ("test", {"test": None}),
    ]
    text, *rest = await read_calls(kind, calls(*made, text="I look."))
    assert str(text).strip() == "I look."
    assert rest == [
        ToolCall("read", "calc.py:1-8"),
        ToolCall("search", '"quoted"'),
        ToolCall("diff"),
        ToolCall("test"),
    ]


@KINDS
@pytest.mark.parametrize(
    ("made", "read"),
    [
        (("read", {"place": "a.py\n```\nrm\n```tool\nreset"}), "a.py ``` rm ```tool reset"),
        (("read", {"place": "a.py\u2028reset"}), "a.py reset"),
        (("read", {"place": "x" * 5_000}), "x" * 1_000),
        (("read\n```\nreset", {"place": "a.py"}), None),
        (("read", ["a.py"]), "['a.py']"),
        (("read", {"place": {"deep": [1]}}), "{'deep': [1]}"),
    ],
)
async def test_an_argument_stays_in_its_line(
    kind: type[HttpChat], made: tuple[str, Any], read: str | None
) -> None:
    (call,) = await read_calls(kind, calls(made))
    assert isinstance(call, ToolCall)
    if read is None:
        assert call.name not in {"read", "reset"}
    else:
        assert call == ToolCall("read", read)


async def test_broken_arguments_are_a_visible_bad_call() -> None:
    (call,) = await read_calls(OpenAIChat, calls(("read", '{"place": "a.py')))
    assert call == ToolCall("read", '{"place": "a.py')


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        (OpenAIChat, 400, "registry.ollama.ai/library/small does not support tools"),
        (
            OpenAIChat,
            400,
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        ),
        (OpenAIChat, 404, "No endpoints found that support tool use. Try disabling it."),
        (OpenAIChat, 400, "small does not support Function Calling"),
        (OpenAIChat, 400, "Failed to call a function. Please adjust your prompt."),
        (OpenAIChat, 500, "tools param requires --jinja flag"),
        (OpenAIResponses, 400, "tools: this model does not support function tools"),
        (AnthropicMessages, 500, "tools param requires --jinja flag"),
        (AnthropicMessages, 400, "tools: Extra inputs are not permitted"),
        (AnthropicMessages, 400, "this model cannot use the client's instruments"),
        (OpenAIChat, 422, "GenerateContentRequest.tools[0]: properties should be non-empty"),
    ],
)
async def test_a_server_that_takes_no_tools_is_asked_by_text_alone(
    kind: type[HttpChat], status: int, words: str
) -> None:
    def plain(asked: Asked) -> Reply:
        refused = "tools" in asked.body
        return (refuses(status, message=words) if refused else says("I look."))(asked)

    async with serving(plain) as server:
        chat = chat_with(server, kind)
        assert (await chat.complete(PROMPT, deadline_s=5)).text == "I look."
        assert (await chat.complete(PROMPT, deadline_s=5)).attempts == 1


@KINDS
async def test_an_answer_says_whether_the_server_takes_tools(kind: type[HttpChat]) -> None:
    def takes_none(asked: Asked) -> Reply:
        return (refuses(400, message="no tools") if "tools" in asked.body else says())(asked)

    for script, known in (
        (calls(("list", {})), True),
        (says("I look."), None),
        (takes_none, False),
    ):
        async with serving(script) as server:
            chat = chat_with(server, kind)
            answers = [await chat.complete(PROMPT, deadline_s=5) for _ in range(2)]
            bare = await chat.complete(PROMPT.with_(tools=()), deadline_s=5)
        assert [answer.takes_tools for answer in answers] == [known, known]
        assert bare.takes_tools is not False, "no tools were offered"


async def test_a_refusal_for_another_reason_does_not_cost_the_tools() -> None:
    async with serving(refuses(400, message="the model name is wrong"), says("I look.")) as server:
        chat = chat_with(server, OpenAIChat)
        server.script.insert(1, server.script[0])
        with pytest.raises(ModelError):
            await chat.complete(PROMPT, deadline_s=5)
        assert ["tools" in asked.body for asked in server.asked] == [True, False]
        await chat.complete(PROMPT, deadline_s=5)
        assert "tools" in server.asked[-1].body


async def test_a_server_that_refuses_forced_calls_still_gets_tools() -> None:
    def thinks(asked: Asked) -> Reply:
        forced = "tool_choice" in asked.body
        words = "tool_choice: forced calls may not be used with thinking, not supported"
        return (refuses(400, message=words) if forced else says("I look."))(asked)

    async with serving(thinks) as server:
        chat = chat_with(server, AnthropicMessages)
        bare = Prompt(system="s", user="u", json_schema=SCHEMA)
        assert (await chat.complete(bare, deadline_s=5)).text == "I look."
        assert not chat.can_hold_to_schema
        assert "tools" not in server.asked[-1].body
        await chat.complete(PROMPT, deadline_s=5)
        assert len(server.asked[-1].body["tools"]) == len(TOOLS)


def test_a_prompt_without_tools_keeps_its_place_in_the_journal() -> None:
    bare = Prompt(system="s", user="u")
    assert hash_prompt(bare).startswith("2b350fae66b4b650"), "as before there were tools"
    assert hash_prompt(bare) != hash_prompt(PROMPT)


@KINDS
async def test_an_agent_works_with_native_calls(tmp_path: Any, kind: type[HttpChat]) -> None:
    steps = [
        calls(("read", {"place": "calc.py:6-8"}), ("search", {"text": "add"})),
        calls(("done", {"cause": "add subtracted"}), text=FIX_ADD),
    ]
    async with serving(*steps) as server:
        limits = ModelLimits(fix="agent")
        ledger = CallLedger(a_database(tmp_path))
        minds = minds_with(chat_with(server, kind), ledger, limits)
        trials = ScriptedTrials(passed)
        climb = await Climb(ScriptedMind(), trials, fixer=ModelFixer(minds, trials, limits)).run()
    assert len(server.asked) == 2
    assert "calc.py, lines 6 to 8" in server.asked[1].user
    assert "calc.py:6: def add(a, b):" in server.asked[1].user
    (candidate,) = climb.candidates
    assert "add subtracted" in candidate.explanation
