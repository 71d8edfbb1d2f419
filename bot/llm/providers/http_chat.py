"""A model behind HTTP: one deadline per question, limited retries, adapted requests."""

import asyncio
import json
import re
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar

from pydantic import SecretStr

from bot.domain.model import Completion, ModelTrouble, Prompt, Usage
from bot.llm.providers.adaptive import Adaptive
from bot.llm.providers.events import Assembler
from bot.llm.providers.replies import (
    INVALID,
    HttpReply,
    RequestFailed,
    error_text,
    find_status,
    refusal,
)

ADAPTED_AT = frozenset({400, 404, 422, 500, 501})
"""Statuses for unsupported parameters; llama.cpp uses 500, OpenRouter 404."""

_NATIVE_TOOLS = "native tools"
"""Name under which refused tools are recorded. It is no parameter of a request."""

_STREAM = "stream"
_NOT_STREAMED = re.compile(
    r"\bstream(ing|ed|s)?\b\W{0,3}[^{}\",]{0,40}\b(not|un\w+|disabled|only|must|forbidden)\b"
    r"|(\b(no|not|un\w+|cannot|disabled|must|without)\b|n't\b)[^{}\",]{0,40}\bstream(ing|ed|s)?\b"
    r"|\"param\"\s*:\s*\"stream\"|\"stream\"\s*\]",
    re.IGNORECASE,
)
"""A refusal to stream in words. Some servers repeat the whole request, which is none."""

Heard = Callable[[], None]
Post = Callable[..., Awaitable[HttpReply]]
"""`Transport.post`, which is loaded late."""
Learned = dict[tuple[str, str, str], Adaptive]
"""Rejected parameters by wire format, base URL and model, shared by all clients."""


@dataclass(frozen=True)
class Server:
    """Address and key of a model server."""

    base_url: str
    key: SecretStr | None = None
    ca_bundle: Path | None = None


@dataclass(frozen=True)
class RetryLimits:
    """Limits on retries within the deadline."""

    idle_s: float = 120.0
    """Time without a byte in the middle of a streamed answer after which the question ends.

    In seconds. It does not apply before the first part of an answer: a server may send nothing
    while it reads the prompt and reasons, or before the end if it does not stream."""
    attempts: int = 4
    first_pause_s: float = 0.5
    longest_pause_s: float = 8.0

    def pause_s(self, failed: int) -> float:
        """Return the pause before a retry, unless the server names one.

        Exponential backoff with up to 25 % jitter.
        """
        pause = min(self.longest_pause_s, self.first_pause_s * 2.0 ** (failed - 1))
        return pause * (1 - secrets.randbelow(256) / 1024)


class HttpChat(ABC):
    """A model of a server; subclasses define the wire format.

    Args:
        server: The server.
        model: The server's name of the model.
        patience: Limits on retries.
        learned: Rejected parameters, shared with other chats.
    """

    kind: ClassVar[str]
    path: ClassVar[str]
    schema_parameter: ClassVar[str]
    optional: ClassVar[Mapping[str, tuple[str, ...]]]
    renames: ClassVar[Mapping[str, str]] = {}
    streaming: ClassVar[Mapping[str, Any]] = {_STREAM: True}
    """Parameters that ask for an answer in events."""
    assembler: ClassVar[type[Assembler]]
    """Assembles the answer from its events."""

    def __init__(
        self,
        server: Server,
        model: str,
        patience: RetryLimits | None = None,
        learned: Learned | None = None,
    ) -> None:
        self._server = server
        self._model = model
        self._patience = patience or RetryLimits()
        shared = {} if learned is None else learned
        # A refusal to stream is recognised by its words, see `_adapt`.
        options: dict[str, tuple[str, ...]] = dict.fromkeys(self.streaming.keys() - {_STREAM}, ())
        self._adaptive = shared.setdefault(
            (self.kind, server.base_url, model),
            Adaptive({**options, **self.optional}, self.renames),
        )
        self._post: Post | None = None

    @property
    def name(self) -> str:
        """Return the model's name, such as `openai-chat:gpt-…`."""
        return f"{self.kind}:{self._model}"

    @property
    def can_hold_to_schema(self) -> bool:
        """Return True until the server rejects `json_schema`."""
        return self._adaptive.takes(self.schema_parameter)

    @property
    def _takes_tools(self) -> bool:
        """Return True until the server refuses tools."""
        return self._adaptive.takes("tools") and self._adaptive.takes(_NATIVE_TOOLS)

    @property
    def _streams(self) -> bool:
        """Return True until the server refuses to stream, or streams without the usage."""
        return self._adaptive.takes(_STREAM)

    async def close(self) -> None:
        """Drop the transport; no connection is kept between questions."""
        self._post = None

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """Return an answer within the deadline, with retries.

        Args:
            prompt: The prompt.
            deadline_s: Time limit including retries, in seconds.

        Raises:
            ModelError: There was no usable answer.
        """
        began = time.monotonic()
        sent = failed = 0
        body, has_tools = self._encode(prompt), bool(prompt.tools)
        while True:
            left = deadline_s - (time.monotonic() - began)
            try:
                sent += 1
                reply = await self._within(body, left, deadline_s)
                if reply.status in ADAPTED_AT:
                    refused, body = body, self._adapt(prompt, reply)
                    # The adapted request is sent at once and is no failed attempt.
                    if body != refused:
                        continue
                    if prompt.tools and refusal(reply).trouble is ModelTrouble.BAD_REQUEST:
                        # Servers word this refusal differently. The prompt's text explains the
                        # tools, too.
                        prompt = prompt.with_(tools=())
                        body = self._encode(prompt)
                        if body != refused:
                            continue
                answer = self._read(reply)
                if self._streams and not (reply.streamed and answer.usage != Usage()):
                    # The usage is what is paid for.
                    self._stop_streaming()
                if has_tools and not prompt.tools:
                    self._adaptive.drop(_NATIVE_TOOLS)
                refuses_tools = has_tools and not self._takes_tools
                return answer.model_copy(
                    update={
                        "attempts": sent,
                        "latency_s": time.monotonic() - began,
                        "takes_tools": False if refuses_tools else answer.takes_tools,
                    }
                )
            except RequestFailed as fault:
                failed += 1
                pause = (
                    self._patience.pause_s(failed)
                    if fault.retry_after_s is None
                    else fault.retry_after_s
                )
                left = deadline_s - (time.monotonic() - began)
                if fault.final or failed >= self._patience.attempts or pause >= left:
                    raise self._annotate(fault, sent) from None
            await asyncio.sleep(pause)

    async def _within(self, body: bytes, left: float, deadline_s: float) -> HttpReply:
        """Send one request, limited by the deadline, and by silence in the middle of a stream."""
        clock = asyncio.get_running_loop()
        end, idle_s = clock.time() + left, self._patience.idle_s
        limit = asyncio.timeout_at(end)

        def heard() -> None:
            limit.reschedule(min(end, clock.time() + idle_s))

        try:
            async with limit:
                return await self._send(body, heard)
        except TimeoutError:
            if limit.when() == end:
                raise RequestFailed(
                    f"no answer within {deadline_s:g} s", trouble=ModelTrouble.DEADLINE
                ) from None
            raise RequestFailed(
                f"nothing received for {idle_s:g} s in the middle of an answer",
                "raise models.idle_s if the server pauses for longer",
                trouble=ModelTrouble.TIMEOUT,
                # Every request may be billed, also without its answer.
                final=True,
            ) from None

    async def _send(self, body: bytes, heard: Heard) -> HttpReply:
        if self._post is None:
            # Load httpx only in a process that asks a model.
            from bot.llm.providers.transport import Transport

            self._post = Transport(self._server.base_url, self._server.ca_bundle).post
        key = self._server.key.get_secret_value() if self._server.key is not None else ""
        headers, assembler = self._headers(key), self.assembler()
        return await self._post(self.path, headers, body, assembler=assembler, on_bytes=heard)

    def _encode(self, prompt: Prompt) -> bytes:
        """Encode a request; lone surrogates from hostile files are replaced."""
        if not self._adaptive.takes(_NATIVE_TOOLS):
            prompt = prompt.with_(tools=())
        body = self._adaptive.fit({**self._body(prompt), **self.streaming})
        return json.dumps(body, ensure_ascii=False).encode(errors="replace")

    def _adapt(self, prompt: Prompt, reply: HttpReply) -> bytes:
        text = error_text(reply)
        self._adaptive.learn(text)
        # A failure while streaming (500) is no refusal to stream.
        if reply.status != HTTPStatus.INTERNAL_SERVER_ERROR and _NOT_STREAMED.search(text):
            self._stop_streaming()
        return self._encode(prompt)

    def _stop_streaming(self) -> None:
        for parameter in self.streaming:
            self._adaptive.drop(parameter)

    def _read(self, reply: HttpReply) -> Completion:
        if reply.status != HTTPStatus.OK:
            raise refusal(reply)
        try:
            data = json.loads(reply.content)
            error = data.get("error")
            if isinstance(error, dict):  # some gateways report errors with status 200
                raise refusal(reply, find_status(error))
            answer = self._answer(data)
        except INVALID:
            raise RequestFailed(
                "the answer has an unexpected format", trouble=ModelTrouble.BAD_RESPONSE
            ) from None
        request_id = reply.headers.get("request-id") or reply.headers.get("x-request-id") or ""
        model = (
            answer.model.rpartition("/")[2] if answer.model.startswith("/") else answer.model
        )  # llama.cpp: a file
        texts = {
            "text": answer.text,
            "request_id": request_id[:100],
            "model": (model or self._model)[:200],
        }
        return answer.model_copy(update={name: sound(value) for name, value in texts.items()})

    def _annotate(self, fault: RequestFailed, sent: int) -> RequestFailed:
        tried = f", {sent} attempts" if sent > 1 else ""
        fault.message = f"{self.name}: {fault.message}{tried}"
        fault.args = (fault.message,)
        fault.attempts = sent
        return fault

    def _headers(self, key: str) -> Mapping[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    @abstractmethod
    def _body(self, prompt: Prompt) -> dict[str, Any]: ...

    @abstractmethod
    def _answer(self, data: Any) -> Completion:
        """Convert the JSON of an answer; invalid data raises the error of reading it."""


def sound(text: str) -> str:
    """Replace lone surrogates, which JSON may contain but files cannot.

    Args:
        text: Text from a server.
    """
    return text.encode(errors="replace").decode()
