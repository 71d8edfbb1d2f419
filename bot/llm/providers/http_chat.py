"""A model behind HTTP: one deadline for a question, careful repeats, and a request that fits its server."""

import asyncio
import json
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar

from pydantic import SecretStr

from bot.domain.model import Completion, ModelTrouble, Prompt
from bot.llm.providers.adaptive import Adaptive
from bot.llm.providers.replies import Fault, Reply, refusal, said

ADAPTED_AT = frozenset({400, 404, 422, 500, 501})
"""What servers answer to a parameter they do not take; llama.cpp says 500, OpenRouter 404."""

_STATUSES = range(400, 600)

Post = Callable[[str, Mapping[str, str], bytes], Awaitable[Reply]]
Learned = dict[tuple[str, str], Adaptive]
"""What servers do not take, by base URL and model; shared by all who ask the same."""


@dataclass(frozen=True)
class Server:
    """Where a model is served, and with which key."""

    base_url: str
    key: SecretStr | None = None
    ca_bundle: Path | None = None


@dataclass(frozen=True)
class Patience:
    """How often and how long to try within the deadline."""

    attempt_s: float = 60.0
    attempts: int = 4
    first_pause_s: float = 0.5
    longest_pause_s: float = 8.0

    def pause_s(self, failed: int) -> float:
        """Before the next try, where the server names no time: doubled each time, up to a quarter shorter by chance."""
        pause = min(self.longest_pause_s, self.first_pause_s * 2.0 ** (failed - 1))
        return pause * (1 - secrets.randbelow(256) / 1024)


class HttpChat(ABC):
    """One model of one server; what differs between wire formats is left to its heirs.

    Args:
        server: Where.
        model: As the server calls it.
        patience: How often and how long to try.
        learned: What is known of servers, shared with other chats.
    """

    kind: ClassVar[str]
    path: ClassVar[str]
    schema_parameter: ClassVar[str]
    optional: ClassVar[Mapping[str, tuple[str, ...]]]
    renames: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self, server: Server, model: str, patience: Patience | None = None, learned: Learned | None = None
    ) -> None:
        self._server = server
        self._model = model
        self._patience = patience or Patience()
        shared = {} if learned is None else learned
        self._adaptive = shared.setdefault((server.base_url, model), Adaptive(self.optional, self.renames))
        self._post: Post | None = None

    @property
    def name(self) -> str:
        """`openai-chat:gpt-…`."""
        return f"{self.kind}:{self._model}"

    @property
    def can_hold_to_schema(self) -> bool:
        """Whether the server takes `json_schema`: yes until it refuses."""
        return self._adaptive.takes(self.schema_parameter)

    async def close(self) -> None:
        """Nothing is kept open between questions."""
        self._post = None

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """An answer within the deadline, repeats included.

        Args:
            prompt: What to ask.
            deadline_s: For everything together.

        Raises:
            ModelError: there is none.
        """
        began = time.monotonic()
        sent = failed = 0
        body = self._encoded(prompt)
        while True:
            left = deadline_s - (time.monotonic() - began)
            try:
                sent += 1
                reply = await self._within(body, left, deadline_s)
                if reply.status in ADAPTED_AT:
                    refused, body = body, self._adapted(prompt, reply)
                    if body != refused:
                        continue
                answer = self._read(reply)
                return answer.model_copy(update={"attempts": sent, "latency_s": time.monotonic() - began})
            except Fault as fault:
                failed += 1
                pause = self._patience.pause_s(failed) if fault.retry_after_s is None else fault.retry_after_s
                left = deadline_s - (time.monotonic() - began)
                if fault.final or failed >= self._patience.attempts or pause >= left:
                    raise self._told(fault, sent) from None
            await asyncio.sleep(pause)

    async def _within(self, body: bytes, left: float, deadline_s: float) -> Reply:
        """One request, stopped by the deadline or by the limit of an attempt."""
        limit = min(left, self._patience.attempt_s)
        try:
            async with asyncio.timeout(limit):
                return await self._sent(body)
        except TimeoutError:
            if left <= self._patience.attempt_s:
                raise Fault(f"no answer within {deadline_s:g} s", trouble=ModelTrouble.DEADLINE) from None
            raise Fault(f"no answer within {limit:g} s", trouble=ModelTrouble.TIMEOUT) from None

    async def _sent(self, body: bytes) -> Reply:
        if self._post is None:
            # httpx costs a process that asks no model nothing.
            from bot.llm.providers.transport import Transport

            self._post = Transport(self._server.base_url, self._server.ca_bundle).post
        key = self._server.key.get_secret_value() if self._server.key is not None else ""
        return await self._post(self.path, self._headers(key), body)

    def _encoded(self, prompt: Prompt) -> bytes:
        """Halves of characters, as hostile files have them, cannot be sent."""
        body = self._adaptive.fit(self._body(prompt))
        return json.dumps(body, ensure_ascii=False).encode(errors="replace")

    def _adapted(self, prompt: Prompt, reply: Reply) -> bytes:
        self._adaptive.hear(said(reply))
        return self._encoded(prompt)

    def _read(self, reply: Reply) -> Completion:
        if reply.status != HTTPStatus.OK:
            raise refusal(reply)
        try:
            told = json.loads(reply.content)
            error = told.get("error")
            if isinstance(error, dict):  # some gateways refuse with status 200
                code = error.get("code")
                raise refusal(reply, code if code in _STATUSES else HTTPStatus.BAD_GATEWAY)
            answer = self._answer(told)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise Fault("the answer is not what was asked for", trouble=ModelTrouble.BAD_RESPONSE) from None
        request_id = reply.headers.get("request-id") or reply.headers.get("x-request-id") or ""
        model = answer.model.rpartition("/")[2] if answer.model.startswith("/") else answer.model  # llama.cpp: a file
        texts = {"text": answer.text, "request_id": request_id[:100], "model": (model or self._model)[:200]}
        return answer.model_copy(update={name: sound(value) for name, value in texts.items()})

    def _told(self, fault: Fault, sent: int) -> Fault:
        tried = f", asked {sent} times" if sent > 1 else ""
        fault.message = f"{self.name}: {fault.message}{tried}"
        fault.args = (fault.message,)
        fault.attempts = sent
        return fault

    @abstractmethod
    def _headers(self, key: str) -> Mapping[str, str]: ...

    @abstractmethod
    def _body(self, prompt: Prompt) -> dict[str, Any]: ...

    @abstractmethod
    def _answer(self, told: Any) -> Completion:
        """What the JSON of an answer says; whatever is not as it should be raises what reading it raises."""


def sound(text: str) -> str:
    """Text without halves of characters, which JSON can hold and files cannot.

    Args:
        text: A server's.
    """
    return text.encode(errors="replace").decode()
