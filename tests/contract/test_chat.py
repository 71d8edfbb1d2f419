"""What every Chat keeps to, whichever model is behind it."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.domain.model import ANY_HOST, Completion, Finish, ModelTrouble, Prompt
from bot.domain.model_error import ModelError
from bot.llm.providers.named import build
from bot.llm.providers.options import ChatOptions
from bot.llm.providers.replay import Cassette, Recorded, hash_prompt
from bot.ports.models import Chat
from tests.fakes.cli_agents import FakeAgents, claude_says, codex_says
from tests.fakes.model_server import FOREVER_S, Script, refuses, says, serving
from tests.patience import HANG_S

pytestmark = pytest.mark.anyio

KEY = "sk-key-of-nobody-0123456789"
ANSWER = '{"word": "caf\u00e9 \U0001f40d"}'
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}}
PROMPT = Prompt(
    system="You repair.", user="Fix the function that adds.", name="fix@1", temperature=0.0
)
PROMPTS = (
    PROMPT,
    PROMPT.with_(json_schema=SCHEMA),
    PROMPT.with_(seed=3, temperature=0.8, stop=("END",), cache=True),
    PROMPT.with_(user="half a character: \ud800, a control: \x1b[31m, bidi: \u202e, nothing: \x00"),
    PROMPT.with_(user="long " * 40_000),
)

Making = Callable[[Path, bool], AbstractAsyncContextManager[Chat]]
"""A chat that gives ANSWER, or none at all; with a folder of its own."""


def over_http(text: str, *, streams: bool = True) -> Making:
    @asynccontextmanager
    async def making(_: Path, silent: bool) -> AsyncIterator[Chat]:  # noqa: FBT001
        answer = says(ANSWER, after_s=FOREVER_S if silent else 0.0)
        async with serving(answer if streams else streamless(answer), key=KEY) as server:
            yield build(
                text.replace("URL", server.base_url), ChatOptions(keys={ANY_HOST: SecretStr(KEY)})
            )

    return making


def by_agent(kind: str, program: str, said: str) -> Making:
    @asynccontextmanager
    async def making(folder: Path, silent: bool) -> AsyncIterator[Chat]:  # noqa: FBT001
        agents = FakeAgents(folder)
        agents.install(program, {"hang": 60} if silent else {"stdout": said, "last": ANSWER})
        yield build(
            f"{kind}:big",
            ChatOptions(
                agent_reads_host=True, keys={kind: SecretStr(KEY)}, environment=agents.environment
            ),
        )

    return making


@asynccontextmanager
async def scripted(folder: Path, silent: bool) -> AsyncIterator[Chat]:  # noqa: FBT001
    file = folder / "answers.json"
    file.write_text(
        json.dumps({"*": {"text": ANSWER, "after_s": 60 if silent else 0}}, ensure_ascii=False)
    )
    yield build(f"scripted:{file}", ChatOptions())


@asynccontextmanager
async def replayed(folder: Path, silent: bool) -> AsyncIterator[Chat]:  # noqa: FBT001
    assert not silent
    file = folder / "cassette.json"
    recorded = Recorded(prompt="fix@1", answer=Completion(text=ANSWER))
    file.write_text(
        Cassette(answers={hash_prompt(prompt): recorded for prompt in PROMPTS}).model_dump_json()
    )
    yield build(f"replay:{file}", ChatOptions())


def streamless(answer: Script) -> Script:
    refusal = refuses(400, message="stream: not supported")
    return lambda asked: (refusal if "stream" in asked.body else answer)(asked)


MAKINGS: dict[str, Making] = {
    "openai-chat": over_http("openai-chat:big@URL"),
    "openai-chat, plain": over_http("openai-chat:big@URL", streams=False),
    "openai-responses": over_http("openai-responses:big@URL"),
    "openai-responses, plain": over_http("openai-responses:big@URL", streams=False),
    "anthropic": over_http("anthropic:big@URL"),
    "anthropic, plain": over_http("anthropic:big@URL", streams=False),
    "several": over_http("openai-chat:big@URL/nowhere,anthropic:big@URL"),
    "codex-cli": by_agent("codex-cli", "codex", codex_says(ANSWER)),
    "claude-cli": by_agent("claude-cli", "claude", claude_says(ANSWER)),
    "scripted": scripted,
    "replay": replayed,
}
CAN_BE_SILENT = sorted(MAKINGS.keys() - {"replay"})


@pytest.mark.parametrize("kind", sorted(MAKINGS))
async def test_text_goes_in_and_text_comes_out(kind: str, tmp_path: Path) -> None:
    async with MAKINGS[kind](tmp_path, False) as chat:  # noqa: FBT003
        for prompt in PROMPTS:
            if kind == "replay" and "\ud800" in prompt.user:
                continue  # has no hash, and can have come from no recording
            answer = await chat.complete(prompt, deadline_s=30)
            assert (json.loads(answer.text), answer.finish) == (json.loads(ANSWER), Finish.STOP)
            assert answer.attempts >= 1
            assert answer.latency_s >= 0
            assert answer.usage.cache_read_tokens <= answer.usage.input_tokens
            Completion.model_validate_json(answer.model_dump_json())
        await chat.close()
        await chat.close()


@pytest.mark.parametrize("kind", sorted(MAKINGS))
async def test_a_name_is_a_name_and_shows_nothing_else(kind: str, tmp_path: Path) -> None:
    async with MAKINGS[kind](tmp_path, False) as chat:  # noqa: FBT003
        shown = f"{chat.name} {chat!r} {chat.can_hold_to_schema}"
        assert KEY not in shown
        assert "127.0.0.1" not in shown
        assert str(tmp_path) not in shown
        assert ":" in chat.name


@pytest.mark.parametrize("kind", CAN_BE_SILENT)
async def test_a_deadline_is_kept(kind: str, tmp_path: Path) -> None:
    async with MAKINGS[kind](tmp_path, True) as chat:  # noqa: FBT003
        began = time.monotonic()
        with pytest.raises(ModelError) as raised:
            await chat.complete(PROMPT, deadline_s=0.6)
        assert time.monotonic() - began < HANG_S
    assert raised.value.trouble in {
        ModelTrouble.DEADLINE,
        ModelTrouble.TIMEOUT,
        ModelTrouble.BAD_REQUEST,
    }
    assert raised.value.message
    assert KEY not in raised.value.message + raised.value.advice
    assert PROMPT.user not in raised.value.message + raised.value.advice


@pytest.mark.parametrize("kind", CAN_BE_SILENT)
async def test_a_question_can_be_cancelled(kind: str, tmp_path: Path) -> None:
    async with MAKINGS[kind](tmp_path, True) as chat:  # noqa: FBT003
        task = asyncio.ensure_future(chat.complete(PROMPT, deadline_s=60))
        await asyncio.sleep(0.2)
        task.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < HANG_S
