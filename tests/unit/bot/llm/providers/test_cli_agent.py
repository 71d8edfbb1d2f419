"""Command-line agents as real processes: every way they end badly is a typed error in time, and leaves nothing behind."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.domain.model import ANY_HOST, ModelTrouble, Prompt
from bot.domain.model_error import ModelError
from bot.errors import SettingsError
from bot.llm.providers import cli_agent
from bot.llm.providers.cli_agent import CliAgent
from bot.llm.providers.options import ChatOptions
from tests.fakes.cli_agents import (
    WAITING,
    FakeAgents,
    claude_says,
    codex_fails,
    codex_says,
)
from tests.patience import HANG_S

KEY = "sk-key-of-nobody-0123456789"
PROMPT = Prompt(system="You repair.", user="Fix the function that adds.", name="fix@1")
SCHEMA = {"type": "object"}

pytestmark = pytest.mark.anyio


KEYS = {kind: SecretStr(KEY) for kind in ("codex-cli", "claude-cli", ANY_HOST)}


@pytest.fixture
def agents(tmp_path: Path) -> FakeAgents:
    return FakeAgents(tmp_path)


def chat(agents: FakeAgents, kind: str, model: str = "m-1", *, agent_s: float = 30.0) -> CliAgent:
    return cli_agent.build(
        kind,
        model,
        ChatOptions(
            agent_reads_host=True, keys=KEYS, environment=agents.environment, agent_s=agent_s
        ),
    )


async def trouble(
    one: CliAgent, *, deadline_s: float = 20.0, prompt: Prompt = PROMPT
) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await one.complete(prompt, deadline_s=deadline_s)
    told = f"{caught.value!r} {caught.value.message} {caught.value.advice}"
    assert KEY not in told
    assert prompt.user not in told
    return caught.value


def is_there(path: str) -> bool:
    return Path(path).exists()


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def test_codex_gives_its_last_message(agents: FakeAgents) -> None:
    agents.install(
        "codex",
        {"stdout": codex_says("events"), "last": "the answer", "stderr": "banner\nuser\nFix\n"},
    )
    said = await chat(agents, "codex-cli").complete(PROMPT, deadline_s=20)
    assert said.text == "the answer"
    assert said.attempts == 1
    assert said.latency_s > 0


async def test_a_tool_sees_its_own_key_and_nothing_else_of_ours(agents: FakeAgents) -> None:
    agents.install("claude", {"stdout": claude_says("fine")})
    await chat(agents, "claude-cli").complete(PROMPT, deadline_s=20)
    (call,) = agents.calls
    environment = call["environment"]
    assert environment["ANTHROPIC_API_KEY"] == KEY
    assert not {"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY"} & set(environment)
    assert environment["HOME"] != os.environ["HOME"]
    assert KEY not in str(call["argv"])
    assert call["stdin"] == PROMPT.user
    assert call["beside"] == []
    assert call["session"]


async def test_a_tool_trusts_whom_we_trust(agents: FakeAgents) -> None:
    agents.install("claude", {"stdout": claude_says("fine")})
    options = ChatOptions(
        agent_reads_host=True,
        keys=KEYS,
        environment=agents.environment,
        ca_bundle=Path("/own/ca.pem"),
    )
    await cli_agent.build("claude-cli", "m", options).complete(PROMPT, deadline_s=20)
    environment = agents.calls[0]["environment"]
    assert (environment["SSL_CERT_FILE"], environment["NODE_EXTRA_CA_CERTS"]) == (
        "/own/ca.pem",
        "/own/ca.pem",
    )


async def test_nothing_of_a_call_stays_on_disk(agents: FakeAgents) -> None:
    agents.install("claude", {"stdout": claude_says("fine")})
    await chat(agents, "claude-cli").complete(PROMPT, deadline_s=20)
    assert not is_there(agents.calls[0]["folder"])


async def test_the_version_is_asked_once(agents: FakeAgents) -> None:
    agents.install("codex", {"last": "fine", "stdout": codex_says("fine")})
    one = chat(agents, "codex-cli")
    assert await one.version() == "0.169.0"
    (agents.folder / "codex.json").write_text(
        (agents.folder / "codex.json").read_text().replace("0.169.0", "9.9")
    )
    assert await one.version() == "0.169.0"


async def test_a_tool_that_is_not_there_is_said_so(agents: FakeAgents) -> None:
    one = cli_agent.build(
        "codex-cli",
        "m",
        ChatOptions(agent_reads_host=True, environment={"PATH": str(agents.folder)}),
    )
    error = await trouble(one)
    assert error.trouble is ModelTrouble.BAD_REQUEST
    assert "install codex" in error.advice


async def test_a_program_of_the_same_name_that_is_another_is_not_asked(agents: FakeAgents) -> None:
    agents.install("codex", {"stdout": codex_says("fine")}, version="")
    assert (await trouble(chat(agents, "codex-cli"))).trouble is ModelTrouble.BAD_REQUEST
    assert agents.calls == []


@pytest.mark.parametrize(
    ("kind", "turn", "expected"),
    [
        ("codex-cli", {"stdout": codex_fails(f"401: Incorrect API key {KEY}"), "status": 1}, ModelTrouble.AUTH),
        ("codex-cli", {"stderr": "error: unexpected argument '--ephemeral'\n", "status": 2}, ModelTrouble.BAD_REQUEST),
        ("codex-cli", {"stdout": "", "status": 0}, ModelTrouble.BAD_RESPONSE),
        ("codex-cli", {"stderr": f"thread 'main' panicked\n{PROMPT.user}\n", "status": 101}, ModelTrouble.BAD_RESPONSE),
        ("claude-cli", {"stdout": claude_says("API Error: 529 overloaded", is_error=True), "status": 1}, ModelTrouble.OVERLOADED),
        ("claude-cli", {"stdout": claude_says("Invalid API key", is_error=True), "status": 1}, ModelTrouble.AUTH),
        ("claude-cli", {"stdout": claude_says("cut")[:40]}, ModelTrouble.BAD_RESPONSE),
        ("claude-cli", {"stdout": claude_says("  ")}, ModelTrouble.BAD_RESPONSE),
    ],
)  # fmt: skip
async def test_every_bad_end_has_its_kind(
    agents: FakeAgents, kind: str, turn: dict[str, object], expected: ModelTrouble
) -> None:
    agents.install(kind.removesuffix("-cli"), turn)
    assert (await trouble(chat(agents, kind))).trouble is expected


async def test_one_that_hangs_and_hears_no_signal_is_dead_at_the_deadline(
    agents: FakeAgents,
) -> None:
    agents.install("claude", {"hang": 60, "deaf": True})
    one = chat(agents, "claude-cli")
    await one.version()
    started = time.perf_counter()
    error = await trouble(one, deadline_s=1.5)
    assert error.trouble is ModelTrouble.DEADLINE
    assert time.perf_counter() - started < 20
    assert not is_alive(agents.calls[0]["pid"])


async def test_the_limit_of_agents_holds_whatever_deadline_is_given(agents: FakeAgents) -> None:
    agents.install("claude", {"hang": 60})
    error = await trouble(chat(agents, "claude-cli", agent_s=2.0), deadline_s=600)
    assert error.trouble is ModelTrouble.DEADLINE


async def test_a_flood_is_cut_off(agents: FakeAgents) -> None:
    agents.install("codex", {"stdout": "x" * (1 << 20), "repeat": 64})
    error = await trouble(chat(agents, "codex-cli"))
    assert error.trouble is ModelTrouble.BAD_RESPONSE
    assert "longer" in error.message or "output limit" in error.message
    assert not is_alive(agents.calls[0]["pid"])


async def test_a_flood_of_errors_does_not_hide_an_answer(agents: FakeAgents) -> None:
    agents.install("claude", {"stdout": claude_says("fine"), "stderr": "warning\n" * 100_000})
    assert (await chat(agents, "claude-cli").complete(PROMPT, deadline_s=120)).text == "fine"


async def test_who_reconnects_for_ever_is_ended_long_before_the_deadline(
    agents: FakeAgents,
) -> None:
    agents.install("codex", {"stdout": WAITING, "repeat": 10_000, "pause": 0.02})
    started = time.perf_counter()
    error = await trouble(chat(agents, "codex-cli"), deadline_s=60)
    assert error.trouble is ModelTrouble.TRANSPORT
    assert error.retryable
    assert time.perf_counter() - started < 50


async def test_children_left_behind_are_killed_and_hold_nobody_up(agents: FakeAgents) -> None:
    agents.install("claude", {"stdout": claude_says("fine"), "children": ["near"]})
    assert (await chat(agents, "claude-cli").complete(PROMPT, deadline_s=120)).text == "fine"
    (child,) = agents.children
    async with asyncio.timeout(HANG_S):
        while is_alive(child):  # noqa: ASYNC110 -- a process tells nobody that it ended
            await asyncio.sleep(0.02)


async def test_children_that_left_the_group_hold_nobody_up(agents: FakeAgents) -> None:
    agents.install("claude", {"stdout": claude_says("fine"), "children": ["apart"]})
    try:
        assert (await chat(agents, "claude-cli").complete(PROMPT, deadline_s=120)).text == "fine"
    finally:
        for child in agents.children:
            os.kill(child, 9)


async def test_a_cancelled_call_leaves_no_process(agents: FakeAgents) -> None:
    agents.install("claude", {"hang": 60, "deaf": True})
    one = chat(agents, "claude-cli")
    await one.version()
    calls = [asyncio.create_task(one.complete(PROMPT, deadline_s=30)) for _ in range(5)]
    for _ in range(1000):
        if len(agents.calls) == 5:
            break
        await asyncio.sleep(0.02)
    for call in calls:
        call.cancel()
    assert all(
        isinstance(end, asyncio.CancelledError)
        for end in await asyncio.gather(*calls, return_exceptions=True)
    )
    assert not any(is_alive(call["pid"]) for call in agents.calls)


async def test_a_schema_that_is_refused_is_left_out_from_then_on(agents: FakeAgents) -> None:
    refused = {"stdout": codex_fails("400: Invalid schema for response_format"), "status": 1}
    agents.install("codex", refused, {"stdout": codex_says("fine"), "last": "fine"})
    one = chat(agents, "codex-cli")
    prompt = PROMPT.with_(json_schema=SCHEMA)
    said = await one.complete(prompt, deadline_s=20)
    assert (said.text, said.attempts) == ("fine", 2)
    assert not one.can_hold_to_schema
    await one.complete(prompt, deadline_s=20)
    assert ["schema" in call for call in agents.calls] == [True, False, False]


async def test_a_huge_prompt_goes_by_standard_input(agents: FakeAgents) -> None:
    agents.install("codex", {"stdout": codex_says("fine")})
    prompt = PROMPT.with_(user="ü" * 1_000_000)
    assert (await chat(agents, "codex-cli").complete(prompt, deadline_s=120)).text == "fine"
    assert len(agents.calls[0]["stdin"]) > 1_000_000


def test_a_name_says_what_was_configured_and_never_where(agents: FakeAgents) -> None:
    assert chat(agents, "codex-cli", "gpt-x@https://host.example/v1").name == "codex-cli:gpt-x"
    assert chat(agents, "claude-cli", "").name == "claude-cli"
    assert KEY not in repr(vars(chat(agents, "claude-cli")))


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        *(
            ("cat", "m"),
            ("codex-cli", "--yolo"),
            ("codex-cli", "m@ftp://host"),
            ("codex-cli", "m@http://host.example"),
        ),
        ("codex-cli", "m@https://user:password@host.example"),
    ],
)
def test_what_names_no_agent_is_a_setting_that_is_wrong(
    agents: FakeAgents, kind: str, model: str
) -> None:
    with pytest.raises(SettingsError):
        chat(agents, kind, model)


def test_an_agent_that_reads_this_host_s_files_is_asked_only_where_that_is_allowed() -> None:
    with pytest.raises(SettingsError, match="read this host's files") as refused:
        cli_agent.build("codex-cli", "m", ChatOptions(keys=KEYS))
    assert "models.cli_reads_host" in refused.value.advice
    assert "model_agent" in refused.value.advice


def test_an_agent_without_tools_needs_no_leave() -> None:
    assert cli_agent.build("claude-cli", "m", ChatOptions(keys=KEYS)).name == "claude-cli:m"
