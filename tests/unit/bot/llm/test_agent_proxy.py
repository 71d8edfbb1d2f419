"""The door of an agent's sandbox: what comes through it, what it costs, and that the key stays outside."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.domain.account import ModelLimits
from bot.domain.model import ModelTrouble, Passage, Question, Role
from bot.domain.policy import RepositoryPolicy
from bot.ledger.calls import CallLedger
from bot.llm.agent_proxy import MOST_REQUEST_BYTES, AgentModelProxies, AgentModelProxy
from bot.llm.billing import Billing
from bot.llm.configured_agent import ConfiguredAgent
from bot.llm.prices import Prices
from bot.llm.prompts.render import prompt_file
from bot.llm.providers.replies import HttpReply, RequestFailed
from sandbox.egress.doorway import Doorway
from tests.builders import a_request
from tests.databases import a_database
from tests.fakes.fixed_clock import FixedClock

KEY = "sk-key-of-nobody-0123456789"
ANSWER = {
    "choices": [{"message": {"content": "hi"}}],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 10},
}
ASKED = {"model": "dear", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 100}

pytestmark = pytest.mark.anyio


class Provider:
    """Answers, and remembers what it was sent."""

    def __init__(
        self, reply: HttpReply | RequestFailed | None = None, *, after_s: float = 0.0
    ) -> None:
        self.reply = reply or HttpReply(
            200, {"content-type": "application/json", "set-cookie": "a"}, _json(ANSWER)
        )
        self.after_s = after_s
        self.sent: list[tuple[str, Mapping[str, str], dict[str, Any]]] = []

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        self.sent.append((path, headers, json.loads(body)))
        await asyncio.sleep(self.after_s)
        if isinstance(self.reply, RequestFailed):
            raise self.reply
        return self.reply


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def door(
    folder: Path, provider: Provider, kind: str = "openai-chat", **limits: Any
) -> AgentModelProxy:
    served = ConfiguredAgent(kind=kind, model="small", post=provider.post, key=SecretStr(KEY))
    till = Billing(CallLedger(a_database(folder)), Prices("small=1/2"))
    found = AgentModelProxies(
        served, till, ModelLimits(**limits), clock=FixedClock(), secrets=("swordfish-of-ours",)
    ).of(a_request(), RepositoryPolicy())
    assert found is not None
    return found


@asynccontextmanager
async def opened(folder: Path, behind: AgentModelProxy) -> AsyncIterator[Path]:
    socket = folder / "s"
    doorway = Doorway(socket, behind.answer)
    await doorway.start()
    try:
        yield socket
    finally:
        await doorway.close()


async def said(socket: Path, raw: bytes) -> tuple[int, str]:
    """Status and everything that comes back."""
    reader, writer = await asyncio.open_unix_connection(socket)
    try:
        writer.write(raw)
        await writer.drain()
        answer = (await reader.read(1 << 20)).decode()
        while more := await reader.read(1 << 20):
            answer += more.decode()
    finally:
        writer.close()
        await writer.wait_closed()
    return int(answer.split(" ")[1]) if answer else 0, answer


def request(
    path: str = "/v1/chat/completions", body: object = ASKED, *lines: str, method: str = "POST"
) -> bytes:
    content = body if isinstance(body, bytes) else _json(body)
    head = [f"{method} {path} HTTP/1.1", "Host: inside", "Authorization: Bearer none", *lines]
    return "\r\n".join([*head, f"Content-Length: {len(content)}", "", ""]).encode() + content


async def test_a_request_is_sent_on_with_our_key_and_its_answer_comes_back(tmp_path: Path) -> None:
    provider = Provider()
    behind = door(tmp_path, provider)
    async with opened(tmp_path, behind) as socket:
        status, answer = await said(socket, request())
    assert status == 200
    assert json.loads(answer.partition("\r\n\r\n")[2]) == ANSWER
    assert "set-cookie" not in answer
    ((path, headers, body),) = provider.sent
    assert (path, headers["authorization"], body["model"]) == (
        "/chat/completions",
        f"Bearer {KEY}",
        "small",
    )
    (call,) = behind.calls
    assert (call.stage, call.role, call.model) == ("agent", Role.FIX, "openai-chat:small")
    assert call.cost_usd == pytest.approx(0.00102)


async def test_anthropics_key_and_headers(tmp_path: Path) -> None:
    provider = Provider()
    async with opened(tmp_path, door(tmp_path, provider, "claude-cli")) as socket:
        raw = request(
            "/v1/messages?beta=true",
            ASKED,
            "anthropic-version: 2023-06-01",
            "X-Api-Key: none",
            "Cookie: a",
        )
        assert (await said(socket, raw))[0] == 200
    assert provider.sent[0][1] == {"anthropic-version": "2023-06-01", "x-api-key": KEY}


async def test_an_absolute_address_and_a_body_in_chunks_are_understood(tmp_path: Path) -> None:
    provider, content = Provider(), _json(ASKED)
    half = len(content) // 2
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (content[:half], content[half:], b"")
    )
    head = b"POST http://127.0.0.1:99/v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with opened(tmp_path, door(tmp_path, provider)) as socket:
        assert (await said(socket, head + chunks))[0] == 200


@pytest.mark.parametrize(
    "raw",
    [
        request(method="GET"),
        request("/v1/files"),
        request("/v1/messages"),
        request("/v1/chat/completions/../files"),
        request("/v1/models"),
        request(body=b"no JSON"),
        b"POST /v1/chat/completions HTTP/1.1\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n"
        % (MOST_REQUEST_BYTES + 1),
        b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: \xb2\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\n"
        + b"a: b\r\n" * 70
        + b"Content-Length: 2\r\n\r\n{}",
        b"POST /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n",
    ],
    ids=lambda raw: raw[:40].decode("latin-1"),
)
async def test_whatever_is_no_question_to_the_model_is_refused(tmp_path: Path, raw: bytes) -> None:
    provider = Provider()
    async with opened(tmp_path, door(tmp_path, provider)) as socket:
        assert (await said(socket, raw))[0] == 400
    assert provider.sent == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_who_says_nothing_proper_hears_nothing_proper(tmp_path: Path, raw: bytes) -> None:
    provider = Provider()
    async with opened(tmp_path, door(tmp_path, provider)) as socket:
        reader, writer = await asyncio.open_unix_connection(socket)
        writer.write(raw)
        writer.write_eof()
        await reader.read()
        writer.close()
        await writer.wait_closed()
    assert provider.sent == []


async def test_without_money_nothing_is_sent(tmp_path: Path) -> None:
    provider = Provider()
    behind = door(tmp_path, provider, usd_per_mission=0.000001)
    async with opened(tmp_path, behind) as socket:
        status, answer = await said(socket, request())
    assert (status, provider.sent) == (400, [])
    assert "budget" in answer


async def test_a_mission_asks_only_so_often(tmp_path: Path) -> None:
    provider = Provider()
    async with opened(tmp_path, door(tmp_path, provider, calls_per_mission=2)) as socket:
        assert [(await said(socket, request()))[0] for _ in range(4)] == [200, 200, 400, 400]
    assert len(provider.sent) == 2


@pytest.mark.parametrize("status", [401, 403])
async def test_what_a_provider_says_of_the_key_stays_outside(tmp_path: Path, status: int) -> None:
    provider = Provider(
        HttpReply(status, {}, _json({"error": {"message": f"Incorrect API key: {KEY[:8]}***"}}))
    )
    behind = door(tmp_path, provider)
    async with opened(tmp_path, behind) as socket:
        found, answer = await said(socket, request())
    assert found == status
    assert KEY[:8] not in answer
    assert behind.calls[0].trouble is ModelTrouble.AUTH


async def test_a_key_that_a_provider_echoes_is_masked(tmp_path: Path) -> None:
    provider = Provider(HttpReply(400, {"content-type": "text/plain"}, f"odd: {KEY}".encode()))
    async with opened(tmp_path, door(tmp_path, provider)) as socket:
        _, answer = await said(socket, request())
    assert "odd: ***" in answer
    assert KEY not in answer


@pytest.mark.parametrize(
    ("provider", "limits"),
    [
        (Provider(after_s=30), {"cli_timeout_s": 0.05}),
        (Provider(RequestFailed("gone", trouble=ModelTrouble.TRANSPORT)), {}),
    ],
    ids=["late", "gone"],
)
async def test_no_answer_is_an_answer(
    tmp_path: Path, provider: Provider, limits: dict[str, Any]
) -> None:
    behind = door(tmp_path, provider, **limits)
    async with opened(tmp_path, behind) as socket:
        status, answer = await said(socket, request())
    assert status == 400
    assert "no answer" in answer
    assert behind.calls[0].trouble is not None


async def test_a_header_cannot_be_smuggled_by_a_type(tmp_path: Path) -> None:
    provider = Provider(HttpReply(200, {"content-type": "a\r\nb: c"}, b"{}"))
    async with opened(tmp_path, door(tmp_path, provider)) as socket:
        _, answer = await said(socket, request())
    assert "b: c" not in answer


def test_without_an_allowance_there_is_no_door(tmp_path: Path) -> None:
    served = ConfiguredAgent(kind="codex-cli", model="small", post=Provider().post)
    till = Billing(CallLedger(a_database(tmp_path)), Prices())
    assert (
        AgentModelProxies(served, till, ModelLimits(usd_per_mission=0.0), clock=FixedClock()).of(
            a_request(), RepositoryPolicy()
        )
        is None
    )


@pytest.mark.parametrize("kind", ["codex-cli", "claude-cli"])
def test_an_errand_holds_the_task_and_no_key(tmp_path: Path, kind: str) -> None:
    gaps: dict[str, Any] = dict.fromkeys(prompt_file("agent").gaps, ())
    gaps["suspects"] = Passage(label="log", text="the password is swordfish-of-ours")
    errand = door(tmp_path, Provider(), kind).errand(
        Question(stage="agent", prompt="agent", gaps=gaps, role=Role.FIX), wall_s=60
    )
    assert "$MODEL_URL" in errand.command
    assert "Never edit tests" in errand.task
    assert KEY not in errand.model_dump_json()
    assert "the password is ***" in errand.task
