"""A server for models on loopback: speaks the wire formats, answers as a script says, and fails in every way."""

import asyncio
import json
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.model_events import encode_chunks, encode_message, encode_response
from tests.fakes.model_responses import a_response

FOREVER_S = 3_600.0
EVENT_STREAM = "text/event-stream"

TAKES = {
    "/v1/chat/completions": {
        "model", "messages", "max_tokens", "max_completion_tokens", "temperature", "seed", "stop", "response_format",
        "tools", "stream", "stream_options",
    },
    "/v1/messages": {
        "model", "max_tokens", "system", "messages", "temperature", "stop_sequences", "tools", "tool_choice", "stream",
    },
    "/v1/responses": {
        "model", "instructions", "input", "max_output_tokens", "temperature", "text", "tools", "store", "stream",
    },
}  # fmt: skip
"""Every parameter that the wire formats have in common with us; anything else is refused, as Anthropic does."""


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def anthropic(self) -> bool:
        return self.path.endswith("/messages")

    @property
    def responses(self) -> bool:
        return self.path.endswith("/responses")

    @property
    def system(self) -> str:
        """The text of the system prompt, in whichever format."""
        if self.responses:
            return str(self.body["instructions"])
        return _words(
            self.body["system"] if self.anthropic else self.body["messages"][0]["content"]
        )

    @property
    def user(self) -> str:
        """The text of the question, in whichever format."""
        if self.responses:
            return str(self.body["input"])
        return _words(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Reply:
    """What to send back, and how badly."""

    status: int = 200
    body: Any = b""
    """Bytes as they are, anything else as JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)
    after_s: float = 0.0
    """Silence before the first byte."""
    cut: int | None = None
    """The connection ends after so many bytes of the body, of which all were announced."""
    stall: int | None = None
    """After so many bytes of the body nothing more comes."""
    endless: bool = False
    """The body is repeated until nobody listens."""
    pause_s: float = 0.0
    """Between two of these, or between two events of a stream."""


Script = Callable[[Asked], Reply]


def says(
    text: str = "Hello.",
    *,
    finish: str = "stop",
    tokens: tuple[int, int] = (100, 20),
    cached: int = 0,
    **more: Any,
) -> Script:
    """An answer in the format in which it was asked for.

    Args:
        text: What the model says; a schema is answered by JSON text, which must be given here.
        finish: In OpenAI's words: `stop`, `length`, `content_filter`.
        tokens: In, cached ones included, and out.
        cached: Of those that came in.
        more: Further fields of the reply (`after_s`, `headers`).
    """

    def answer(asked: Asked) -> Reply:
        if asked.anthropic:
            said = _anthropic(asked, text, finish, (tokens[0] - cached, tokens[1], cached))
        elif asked.responses:
            said = a_response(asked.body["model"], text, finish, (*tokens, cached))
        else:
            said = _openai(asked, text, finish, (*tokens, cached))
        return in_the_asked_form(asked, said, **more)

    return answer


def in_the_asked_form(asked: Asked, said: Mapping[str, Any], **more: Any) -> Reply:
    """An answer as events where a stream was asked for, else as it is.

    Args:
        asked: The request.
        said: The plain answer.
        more: Further fields of the reply.
    """
    if not asked.body.get("stream"):
        return Reply(body=said, **more)
    headers = {"Content-Type": EVENT_STREAM, **more.pop("headers", {})}
    encode = encode_response if asked.responses else encode_chunks
    body = (encode_message if asked.anthropic else encode)(said)
    return Reply(body=body, headers=headers, **more)


def calls(*made: tuple[str, Any], text: str | None = None) -> Script:
    """An answer with tool calls, in the format in which it was asked for.

    Args:
        made: Name and arguments; text is sent as it is, as broken JSON is.
        text: What the model says before them.
    """

    def openai() -> dict[str, Any]:
        asked = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": given if isinstance(given, str) else json.dumps(given),
                },
            }
            for number, (name, given) in enumerate(made)
        ]
        message = {"role": "assistant", "content": text, "tool_calls": asked}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        return {"choices": [{"finish_reason": "tool_calls", "message": message}], "usage": usage}

    def anthropic() -> dict[str, Any]:
        used = [
            {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
            for number, (name, given) in enumerate(made)
        ]
        said = [{"type": "text", "text": text}] if text else []
        usage = {"input_tokens": 100, "output_tokens": 20}
        return {"content": [*said, *used], "stop_reason": "tool_use", "usage": usage}

    def answer(asked: Asked) -> Reply:
        if asked.responses:
            said = a_response(asked.body["model"], text or "", "stop", (100, 20, 0), made)
        else:
            said = anthropic() if asked.anthropic else openai()
        return in_the_asked_form(asked, said)

    return answer


def refuses(status: int, code: str = "some_error", message: str = "no", **more: Any) -> Script:
    """A refusal in the format in which it was asked for.

    Args:
        status: 429.
        code: The error's type.
        message: The server's words.
        more: Further fields of the reply (`headers`).
    """

    def answer(asked: Asked) -> Reply:
        error = {"type": code, "message": message}
        told = (
            {"type": "error", "error": error}
            if asked.anthropic
            else {"error": error | {"code": code}}
        )
        return Reply(status=status, body=told, **more)

    return answer


def replies(body: Any, status: int = 200, **more: Any) -> Script:
    """The same, whatever was asked.

    Args:
        body: Bytes, or what becomes JSON.
        status: Of the reply.
        more: Further fields of the reply.
    """
    return lambda _: Reply(status=status, body=body, **more)


class ModelServer:
    """Answers by a script; the last line of it for ever. Counts what it sees.

    Args:
        script: Answers, in order.
        key: The only one it takes; any when None.
    """

    def __init__(self, *script: Script, key: str | None = None) -> None:
        self.script: list[Script] = list(script) or [says()]
        self.key = key
        self.base_url = ""
        self.asked: list[Asked] = []
        self.connections = 0
        self.open = 0
        """Connections now."""
        self.broken = 0
        """Those whose other end went away before all was sent."""
        self._changed = asyncio.Condition()

    @property
    def openai_url(self) -> str:
        """Base URL of OpenAI's format."""
        return f"{self.base_url}/v1"

    async def until(self, true: Callable[[], bool], limit_s: float = 30.0) -> None:
        """Wait for something to be true of this server; what is not within the limit is a failure."""
        async with asyncio.timeout(limit_s), self._changed:
            await self._changed.wait_for(true)

    async def closed(self) -> None:
        """Wait until no connection is left: whoever kept one has leaked it."""
        await self.until(lambda: self.open == 0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        await self._count(1)
        try:
            await self._exchange(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            self.broken += 1
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
            await self._count(-1)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection; ends early when the other end does."""
        asked = await _request(reader)
        self.asked.append(asked)
        await self._count(0)
        gone = asyncio.ensure_future(reader.read(1))
        sent = asyncio.ensure_future(_send(writer, self._reply(asked)))
        try:
            await asyncio.wait({gone, sent}, return_when=asyncio.FIRST_COMPLETED)
            if not sent.done():
                raise ConnectionResetError
            await sent
        finally:
            for task in (gone, sent):
                task.cancel()
            await asyncio.gather(gone, sent, return_exceptions=True)

    def _reply(self, asked: Asked) -> Reply:
        if (fault := self._unfit(asked)) is not None:
            return fault(asked)
        script = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return script(asked)

    def _unfit(self, asked: Asked) -> Script | None:
        """What a real server would not take."""
        if asked.path not in TAKES:
            return refuses(404, "not_found_error")
        if self.key is not None and self.key not in {
            asked.headers.get("x-api-key"),
            asked.headers.get("authorization", "").removeprefix("Bearer "),
        }:
            return refuses(
                401, "authentication_error", f"Incorrect API key provided: {asked.headers}"
            )
        extra = asked.body.keys() - TAKES[asked.path]
        if extra:
            return refuses(
                400, "invalid_request_error", f"{min(extra)}: Extra inputs are not permitted"
            )
        if asked.anthropic and not (
            "max_tokens" in asked.body and asked.headers.get("anthropic-version")
        ):
            return refuses(400, "invalid_request_error", "max_tokens: Field required")
        return None

    async def _count(self, by: int) -> None:
        async with self._changed:
            self.open += by
            self._changed.notify_all()


@asynccontextmanager
async def serving(
    *script: Script, key: str | None = None, trust: ssl.SSLContext | None = None
) -> AsyncIterator[ModelServer]:
    """A server for the length of a block, in this event loop.

    Args:
        script: Answers, in order; the last one for ever.
        key: The only one it takes.
        trust: Serves TLS with this.
    """
    server = ModelServer(*script, key=key)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=trust)
    port = listener.sockets[0].getsockname()[1]
    server.base_url = f"http{'s' if trust else ''}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        await _let_in()  # who knocked is let in: asyncio leaks whom it meets at a closed listener
        listener.close()
        await _let_in()  # who was let in a moment ago has not been counted yet
        await server.closed()


async def _let_in() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@contextmanager
def served(*script: Script, key: str | None = None) -> Iterator[ModelServer]:
    """A server for the length of a block, in a thread: for what has its own event loop, or is another process.

    Args:
        script: Answers, in order; the last one for ever.
        key: The only one it takes.
    """
    ready, started, loop = threading.Event(), list[ModelServer](), asyncio.new_event_loop()
    done = asyncio.Event()

    async def run() -> None:
        async with serving(*script, key=key) as server:
            started.append(server)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield started[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(20)
        loop.close()


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(path=first.split(" ")[1], headers=headers, body=json.loads(body or b"{}"))


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> None:
    await asyncio.sleep(reply.after_s)
    body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
    headers = {"Content-Type": "application/json", "Connection": "close"} | dict(reply.headers)
    if not reply.endless:
        headers["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} Said\r\n{head}\r\n".encode())
    while reply.endless:
        writer.write(body)
        await writer.drain()
        await asyncio.sleep(reply.pause_s)
    *events, body = body.split(b"\n\n") if reply.pause_s else [body]
    for event in events:
        writer.write(event + b"\n\n")
        await writer.drain()
        await asyncio.sleep(reply.pause_s)
    parts = [size for size in (reply.cut, reply.stall) if size is not None]
    writer.write(body[: min(parts)] if parts else body)
    await writer.drain()
    if reply.stall is not None:
        await asyncio.sleep(FOREVER_S)


def _words(content: str | Sequence[Mapping[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _openai(asked: Asked, text: str, finish: str, tokens: tuple[int, int, int]) -> dict[str, Any]:
    sent, written, cached = tokens
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": f"{asked.body['model']}-2026-01-01",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": text, "refusal": None},
            }
        ],
        "usage": {
            "prompt_tokens": sent,
            "completion_tokens": written,
            "total_tokens": sent + written,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _anthropic(
    asked: Asked, text: str, finish: str, tokens: tuple[int, int, int]
) -> dict[str, Any]:
    sent, written, cached = tokens
    stops = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
    content: dict[str, Any] = {"type": "text", "text": text}
    forced = "tool_choice" in asked.body
    if forced:
        content = {
            "type": "tool_use",
            "id": "toolu_1",
            "name": asked.body["tools"][0]["name"],
            "input": json.loads(text),
        }
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{asked.body['model']}-2026-01-01",
        "content": [content],
        "stop_reason": "tool_use" if forced else stops[finish],
        "usage": {
            "input_tokens": sent,
            "output_tokens": written,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
        },
    }
