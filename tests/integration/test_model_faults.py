"""Every way in which a model's server fails: a typed error or an answer in time, no connection left, no secret told."""

import asyncio
import gzip
import json
import logging
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.domain.model import Completion, Finish, ModelTrouble, Prompt
from bot.domain.model_error import ModelError
from bot.llm.providers.anthropic_messages import AnthropicMessages
from bot.llm.providers.http_chat import HttpChat, RetryLimits, Server
from bot.llm.providers.openai_chat import OpenAIChat
from bot.llm.providers.openai_responses import OpenAIResponses
from bot.llm.providers.transport import MOST_BYTES
from tests.fakes.model_server import (
    FOREVER_S,
    Asked,
    ModelServer,
    Reply,
    Script,
    refuses,
    replies,
    says,
    serving,
)
from tests.patience import hang_after
from tests.web_site import Trust, make_trust

pytestmark = pytest.mark.anyio

KEY = "sk-canary-0123456789abcdef"
SECRET = "a sentence of the prompt"
PROMPT = Prompt(system="Be brief.", user=SECRET, max_tokens=50, temperature=0.0)
HURRY = RetryLimits(first_pause_s=0.005, longest_pause_s=0.02)
GOOD = says("Hello.")
BOMB = gzip.compress(bytes(MOST_BYTES * 20))
FORMATS = {
    "openai-chat": OpenAIChat,
    "openai-responses": OpenAIResponses,
    "anthropic": AnthropicMessages,
}


@pytest.fixture(params=sorted(FORMATS))
def wire(request: pytest.FixtureRequest) -> type[HttpChat]:
    return FORMATS[request.param]


def chat_with(
    server: ModelServer,
    wire: type[HttpChat],
    patience: RetryLimits = HURRY,
    ca_bundle: Path | None = None,
) -> HttpChat:
    url = server.base_url if wire is AnthropicMessages else server.openai_url
    return wire(Server(url, SecretStr(KEY), ca_bundle), "big", patience)


def untold(error: BaseException) -> None:
    """Neither key nor prompt may be anywhere in what is shown of an error, its causes included."""
    shown = [str(error), repr(error), "".join(traceback.format_exception(error))]
    if isinstance(error, ModelError):
        shown += [error.message, error.advice]
    assert not any(secret in text for text in shown for secret in (KEY, SECRET))


@dataclass(frozen=True)
class Row:
    """What a server does, and what must come of it."""

    script: tuple[Script, ...]
    trouble: ModelTrouble | None = None
    asked: int = 1
    patience: RetryLimits = field(default=HURRY)
    deadline_s: float = 20.0
    waits_s: float | None = None
    finish: Finish = Finish.STOP

    @property
    def timed(self) -> bool:
        """A busy machine may need its time before a request is even there."""
        return self.deadline_s < 1 or self.patience.idle_s < 1


def dated(wait: str) -> Script:
    """The clock of this server is ten years ahead of ours."""
    headers = {
        "Date": "Fri, 01 Jan 2037 12:00:00 GMT",
        "Retry-After": f"Fri, 01 Jan 2037 {wait} GMT",
    }
    return refuses(429, "rate_limit_error", headers=headers)


def shaped(body: object) -> Row:
    return Row((replies(body),), ModelTrouble.BAD_RESPONSE, asked=4)


def blocked(_: Asked) -> Reply:
    """OpenAI has one shape for it, Anthropic another."""
    return Reply(
        status=400,
        body={"error": {"code": "content_policy_violation", "message": f"you said {SECRET}"}},
    )


def falls_silent(asked: Asked) -> Reply:
    """A stream whose answer has begun."""
    whole = says("Hello. " * 50)(asked)
    return Reply(body=whole.body, headers=whole.headers, stall=len(whole.body) // 2)


OFTEN = RetryLimits(idle_s=0.3, attempts=9, first_pause_s=0.005)
LIMITED = refuses(429, "rate_limit_error", headers={"Retry-After": "0"})
OVERLOADED = refuses(529, "overloaded_error")
HTML = replies(b"<html>gateway</html>", headers={"Content-Type": "text/html"})
EVENTS = {"Content-Type": "text/event-stream"}
SAID = json.dumps(
    {"choices": [{"finish_reason": "stop", "message": {"content": "Hello."}}]}
).encode()

ROWS = {
    "limited twice": Row((LIMITED, LIMITED, GOOD), asked=3),
    "limited in milliseconds": Row((refuses(429, headers={"Retry-After-Ms": "20"}), GOOD), asked=2),
    "limited, with no number": Row((refuses(429, headers={"Retry-After": "soon"}), GOOD), asked=2),
    "limited for ever, so to say": Row((refuses(429, headers={"Retry-After": "inf"}), GOOD), asked=2),
    "limited in the past": Row((refuses(429, headers={"Retry-After": "-5"}), GOOD), asked=2),
    "limited beyond the deadline": Row(
        (refuses(429, headers={"Retry-After": "120"}),), ModelTrouble.RATE_LIMIT, waits_s=120.0
    ),
    "limited until a date that is now": Row((dated("12:00:00"), GOOD), asked=2),
    "limited until a date": Row((dated("13:00:00"),), ModelTrouble.RATE_LIMIT, waits_s=3600.0),
    "limited until a date, server without a clock": Row(
        (refuses(429, headers={"Retry-After": "Fri, 01 Jan 2037 12:00:00 GMT"}), GOOD), asked=2
    ),
    "limited for want of money": Row((refuses(429, "insufficient_quota"),), ModelTrouble.AUTH),
    "told not to repeat": Row(
        (refuses(429, "rate_limit_error", headers={"X-Should-Retry": "false"}),), ModelTrouble.RATE_LIMIT
    ),
    "overloaded twice": Row((OVERLOADED, OVERLOADED, GOOD), asked=3),
    "overloaded for ever": Row((OVERLOADED,), ModelTrouble.OVERLOADED, asked=4),
    "unavailable": Row((refuses(503), GOOD), asked=2),
    "broken for ever": Row((refuses(500, "api_error"),), ModelTrouble.TRANSPORT, asked=4),
    "a gateway that fails": Row((refuses(502), refuses(504), GOOD), asked=3),
    "a request that waited": Row((refuses(408), refuses(409), GOOD), asked=3),
    "refused": Row((refuses(400, "invalid_request_error"),), ModelTrouble.BAD_REQUEST),
    "refused as no request": Row((refuses(422),), ModelTrouble.BAD_REQUEST),
    "too large": Row((refuses(413, "request_too_large"),), ModelTrouble.TOO_LARGE),
    "too large for OpenAI": Row((refuses(400, "context_length_exceeded"),), ModelTrouble.TOO_LARGE),
    "too large for Anthropic": Row(
        (refuses(400, message="prompt is too long: 210000 tokens > 200000 maximum"),), ModelTrouble.TOO_LARGE
    ),
    "too large for llama.cpp": Row(
        (refuses(400, "exceed_context_size_error", "request exceeds the available context size"),),
        ModelTrouble.TOO_LARGE,
    ),
    "against the provider's rules": Row((blocked,), ModelTrouble.REFUSAL),
    "the key is wrong": Row(
        (refuses(401, "authentication_error", f"Incorrect API key provided: {KEY}"),), ModelTrouble.AUTH
    ),
    "the key may not": Row((refuses(403, "permission_error"),), ModelTrouble.AUTH),
    "no money left": Row((refuses(402),), ModelTrouble.AUTH),
    "no such model": Row((refuses(404, "model_not_found"),), ModelTrouble.BAD_REQUEST),
    "an odd status": Row((replies({}, status=204),), ModelTrouble.BAD_RESPONSE, asked=4),
    "an error inside an answer": Row((replies({"error": {"code": 429, "message": KEY}}), GOOD), asked=2),
    "an error inside an answer, for ever": Row((replies({"error": {}}),), ModelTrouble.TRANSPORT, asked=4),
    "silent beyond the deadline": Row((says(after_s=FOREVER_S),), ModelTrouble.DEADLINE, deadline_s=0.5),
    "silent while it reads the prompt": Row((says(after_s=0.9),), patience=OFTEN),
    "no time at all": Row((GOOD,), ModelTrouble.DEADLINE, asked=0, deadline_s=0.0),
    "a page instead of an answer": Row((HTML,), ModelTrouble.BAD_RESPONSE, asked=4),
    "a page once": Row((HTML, GOOD), asked=2),
    "no body": shaped(b""),
    "null": shaped(b"null"),
    "a list": shaped([]),
    "no choices": shaped({"choices": [], "content": None}),
    "choices of text": shaped({"choices": ["Hello."], "content": ["Hello."]}),
    "a message that is none": shaped({"choices": [{"message": {"content": 7}}], "content": [{"type": "text"}]}),
    "not UTF-8": shaped(b'{"choices": "\xff\xfe"}'),
    "nested beyond reading": shaped(b"[" * 200_000),
    "cut by the length": Row((says("Hel", finish="length"),), finish=Finish.LENGTH),
    "refused by the model": Row((says("", finish="content_filter"),), finish=Finish.REFUSAL),
    "a body that stalls": Row((replies(SAID, stall=10),), ModelTrouble.DEADLINE, deadline_s=0.5),
    "a body that drips": Row(
        (replies(b" ", endless=True, pause_s=0.005),), ModelTrouble.DEADLINE, deadline_s=0.5
    ),
    "half a body": Row((replies(SAID, cut=len(SAID) // 2),), ModelTrouble.TRANSPORT, asked=4),
    "half a body once": Row((replies(SAID, cut=0), GOOD), asked=2),
    "a stream of nothing": Row(
        (replies(b"data: {}\n\n", headers=EVENTS),), ModelTrouble.TRANSPORT, asked=4
    ),
    "a stream of no events": Row((replies(b"data: [\n\n", headers=EVENTS), GOOD), asked=2),
    "half a stream": Row((says("Hello.", cut=300),), ModelTrouble.TRANSPORT, asked=4),
    "half a stream once": Row((says("Hello.", cut=300), GOOD), asked=2),
    "a stream that stalls": Row((says(stall=300),), ModelTrouble.DEADLINE, deadline_s=0.5),
    "a stream that stalls in its answer": Row((falls_silent, GOOD), ModelTrouble.TIMEOUT, patience=OFTEN),
    "a stream that only shows life": Row(
        (replies(b": alive\n\n", endless=True, pause_s=0.005, headers=EVENTS),), ModelTrouble.DEADLINE, deadline_s=0.5
    ),
    "a flood in a stream": Row((replies(b"x" * 65_536, endless=True, headers=EVENTS),), ModelTrouble.BAD_RESPONSE),
    "a bomb in a stream": Row(
        (replies(BOMB, headers=EVENTS | {"Content-Encoding": "gzip"}),), ModelTrouble.BAD_RESPONSE
    ),
    "an error in a stream": Row(
        (replies(b'data: {"type": "error", "error": {"code": 429, "message": "%s"}}\n\n' % KEY.encode(), headers=EVENTS),),
        ModelTrouble.RATE_LIMIT, asked=4,
    ),
    "the wrong content type": Row((says(headers={"Content-Type": "text/plain; charset=latin-1"}),)),
    "a bomb": Row((replies(BOMB, headers={"Content-Encoding": "gzip"}),), ModelTrouble.BAD_RESPONSE),
    "no gzip": Row(
        (replies(b"Hello.", headers={"Content-Encoding": "gzip"}),), ModelTrouble.BAD_RESPONSE, asked=4
    ),
    "half of gzip": Row(
        (replies(gzip.compress(SAID)[:20], headers={"Content-Encoding": "gzip"}), GOOD), asked=2
    ),
    "packed otherwise": Row((replies(b"Hello.", headers={"Content-Encoding": "br"}), GOOD), asked=2),
    "a flood": Row((replies(b" " * 65_536, endless=True),), ModelTrouble.BAD_RESPONSE),
    "a flood of headers": Row((says(headers={"X-Flood": "x" * 500_000}), GOOD), asked=2),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ROWS))
async def test_a_fault_is_a_typed_error_or_an_answer_in_time(
    name: str, wire: type[HttpChat]
) -> None:
    row = ROWS[name]
    async with serving(*row.script) as server:  # ends when no connection is left
        began = time.monotonic()
        outcome: Completion | ModelError
        try:
            outcome = await chat_with(server, wire, row.patience).complete(
                PROMPT, deadline_s=row.deadline_s
            )
        except ModelError as error:
            outcome = error
        assert time.monotonic() - began < hang_after(row.deadline_s)
        assert len(server.asked) == row.asked or (
            row.timed and len(server.asked) <= outcome.attempts
        )
    assert outcome.attempts == max(row.asked, 1) or row.timed
    if isinstance(outcome, ModelError):
        untold(outcome)
        assert outcome.trouble is row.trouble
        assert outcome.retry_after_s == row.waits_s
        assert outcome.message.startswith(f"{wire.kind}:big: ")
    else:
        assert (row.trouble, outcome.finish) == (None, row.finish)


async def test_an_answer_packed_by_a_gateway_is_unpacked() -> None:
    async with serving(
        replies(gzip.compress(SAID), headers={"Content-Encoding": "gzip"})
    ) as server:
        assert (
            await chat_with(server, OpenAIChat).complete(PROMPT, deadline_s=60)
        ).text == "Hello."


async def test_nothing_is_sent_where_a_redirect_points_to(wire: type[HttpChat]) -> None:
    async with serving(GOOD) as elsewhere:
        for status in (301, 302, 303, 307, 308):
            aside = replies(
                b"", status=status, headers={"Location": elsewhere.base_url + wire.path}
            )
            async with serving(aside) as server:
                with pytest.raises(ModelError, match="elsewhere") as raised:
                    await chat_with(server, wire).complete(PROMPT, deadline_s=5)
            assert (raised.value.trouble, len(server.asked)) == (ModelTrouble.BAD_REQUEST, 1)
        assert elsewhere.connections == 0


async def test_a_server_that_is_not_there_is_asked_again(wire: type[HttpChat]) -> None:
    async with serving() as server:
        chat = chat_with(server, wire)
    with pytest.raises(ModelError) as raised:
        await chat.complete(PROMPT, deadline_s=5)
    untold(raised.value)
    assert (raised.value.trouble, raised.value.attempts) == (ModelTrouble.TRANSPORT, 4)


@asynccontextmanager
async def talking(speech: bytes) -> AsyncIterator[str]:
    """A server that says the same to everybody and hangs up."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(speech)
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    listener = await asyncio.start_server(speak, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    listener.close()


@pytest.mark.parametrize(
    "speech", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"]
)
async def test_what_does_not_speak_http_is_a_fault_of_transport(
    speech: bytes, wire: type[HttpChat]
) -> None:
    async with talking(speech) as url:
        with pytest.raises(ModelError) as raised:
            await wire(Server(url, SecretStr(KEY)), "big", HURRY).complete(PROMPT, deadline_s=5)
    untold(raised.value)
    assert raised.value.trouble is ModelTrouble.TRANSPORT


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return make_trust(tmp_path_factory.mktemp("trust"), "127.0.0.1")


async def test_a_certificate_nobody_vouches_for_ends_it_at_once(
    trust: Trust, wire: type[HttpChat]
) -> None:
    async with serving(trust=trust.server) as server:
        with pytest.raises(ModelError, match="certificate") as raised:
            await chat_with(server, wire).complete(PROMPT, deadline_s=5)
    untold(raised.value)
    assert (raised.value.trouble, raised.value.attempts, server.asked) == (
        ModelTrouble.TRANSPORT,
        1,
        [],
    )


async def test_a_certificate_for_another_host_is_not_taken(tmp_path: Path) -> None:
    other = make_trust(tmp_path, "models.example.com")
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(other.bundle)
    async with serving(trust=other.server) as server:
        with pytest.raises(ModelError, match="certificate"):
            await chat_with(server, OpenAIChat, ca_bundle=bundle).complete(PROMPT, deadline_s=5)
    assert server.asked == []


async def test_who_signed_a_server_can_be_told(
    trust: Trust, tmp_path: Path, wire: type[HttpChat]
) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(trust.bundle)
    async with serving(trust=trust.server) as server:
        chat = chat_with(server, wire, ca_bundle=bundle)
        assert (await chat.complete(PROMPT, deadline_s=60)).text == "Hello."
        silent = says(after_s=FOREVER_S)
        server.script = [silent]
        with pytest.raises(ModelError, match="within"):
            await chat.complete(PROMPT, deadline_s=1.0)
    assert server.broken == 1


async def test_a_bundle_that_is_not_there_is_named_as_such(trust: Trust, tmp_path: Path) -> None:
    async with serving(trust=trust.server) as server:
        with pytest.raises(ModelError, match="certificates cannot be read"):
            await chat_with(server, OpenAIChat, ca_bundle=tmp_path / "none.pem").complete(
                PROMPT, deadline_s=5
            )


async def test_a_hundred_questions_cancelled_at_once_leave_nothing(wire: type[HttpChat]) -> None:
    async with serving(says(after_s=FOREVER_S)) as server:
        chat = chat_with(server, wire)
        tasks = [asyncio.ensure_future(chat.complete(PROMPT, deadline_s=60)) for _ in range(100)]
        await server.until(lambda: len(server.asked) == 100)
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {asyncio.CancelledError}
        await server.closed()
        server.script = [GOOD]
        assert (await chat.complete(PROMPT, deadline_s=60)).text == "Hello."
    assert server.connections == 101


async def test_a_question_can_be_cancelled_at_any_moment(trust: Trust, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(trust.bundle)
    async with serving(says(after_s=FOREVER_S), trust=trust.server) as server:
        chat = chat_with(server, OpenAIChat, ca_bundle=bundle)
        for moments in range(0, 60, 3):
            task = asyncio.ensure_future(chat.complete(PROMPT, deadline_s=60))
            for _ in range(moments):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await server.closed()
        server.script = [GOOD]
        assert (await chat.complete(PROMPT, deadline_s=60)).text == "Hello."


async def test_no_library_writes_key_or_prompt_into_the_log(
    wire: type[HttpChat], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(refuses(529), GOOD) as server:
        await chat_with(server, wire).complete(PROMPT, deadline_s=20)
    assert caplog.records
    assert not any(
        secret in record.getMessage() for record in caplog.records for secret in (KEY, SECRET)
    )
