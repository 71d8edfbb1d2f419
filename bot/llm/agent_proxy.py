"""Model proxy for an agent's sandbox: each request is bounded, paid for and sent to one model.

The key stays outside. The agent inside sends HTTP to an address that leads to a unix socket; it has
no other network access.
"""

import asyncio
import http
import json
import secrets
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from bot.domain.account import Account, ModelLimits, build_account
from bot.domain.model import Completion, ModelCall, ModelTrouble, Prompt, Question, Role
from bot.domain.model_error import ModelError
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.llm.agent_requests import MOST_ANSWER_TOKENS, Refused, Wire, bounded, usage_in
from bot.llm.billing import Billing
from bot.llm.configured_agent import COMMANDS, ConfiguredAgent
from bot.llm.prompts.render import render_question
from bot.llm.providers.replies import HttpReply, refusal
from bot.llm.spans import Sanitizer
from bot.ports import Clock
from sandbox.gate import prepare_needles
from sandbox.types import Errand

MOST_REQUEST_BYTES = 8 << 20
MOST_HEADERS = 64
REQUEST_S = 30.0
"""Timeout for receiving a request, in seconds."""
_AUTH = frozenset({401, 403, 407})


class AgentModelProxies:
    """Creates a model proxy for each mission.

    Args:
        served: The configured agent.
        till: Bills the calls.
        limits: Limits of model cost and time.
        clock: Determines the day of the account.
        secrets: Values that must never be sent.
    """

    def __init__(
        self,
        served: ConfiguredAgent,
        till: Billing,
        limits: ModelLimits,
        *,
        clock: Clock,
        secrets: tuple[str, ...] = (),
    ) -> None:
        self._served = served
        self._till = till
        self._limits = limits
        self._clock = clock
        self._secrets = prepare_needles(secrets)

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> "AgentModelProxy | None":
        """Return the mission's proxy; None if the mission has no money."""
        account = build_account(request, policy, self._limits, self._clock.now().date())
        if account.is_penniless:
            return None
        washer = Sanitizer(self._secrets)
        return AgentModelProxy(
            self._served, self._till, account, answer_s=self._limits.cli_timeout_s, washer=washer
        )


class _Request(NamedTuple):
    path: str
    headers: Mapping[str, str]
    body: bytes


class AgentModelProxy:
    """Model proxy of one agent.

    Args:
        served: The agent and its model.
        till: Bills the calls.
        account: Account of the mission.
        answer_s: Timeout of one answer, in seconds.
        washer: Removes secrets from the agent's task.
    """

    def __init__(
        self,
        served: ConfiguredAgent,
        till: Billing,
        account: Account,
        *,
        answer_s: float,
        washer: Sanitizer,
    ) -> None:
        self._served = served
        self._till = till
        self._account = account
        self._answer_s = answer_s
        self._washer = washer
        self._calls: list[ModelCall] = []

    @property
    def name(self) -> str:
        """Return the agent's name, such as `codex-cli:gpt-…`."""
        return self._served.name

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Return the calls made through the proxy."""
        return tuple(self._calls)

    def errand(self, question: Question, *, wall_s: float) -> Errand:
        """Build the agent's command and task.

        Args:
            question: The agent's task.
            wall_s: Time limit, in seconds.
        """
        command = self._served.command or COMMANDS.get(self._served.kind, "false")
        variables = {"MODEL": self._served.model}
        return Errand(
            command=command,
            task=render_question(question, self._washer).user,
            variables=variables,
            wall_s=wall_s,
        )

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, then end the connection.

        Args:
            reader: Stream from the sandbox.
            writer: Stream to the sandbox.
        """
        try:
            async with asyncio.timeout(REQUEST_S):
                request = await _read(reader, self._served.wire)
            body = bounded(request.body, request.path, self._served.wire, self._served.model)
            reply = await self._paid(
                request, json.dumps(body, ensure_ascii=False).encode(errors="replace")
            )
        except Refused as refused:
            reply = _error_reply(400, str(refused))
        except (TimeoutError, EOFError, ValueError, RecursionError):
            return
        except ModelError as error:
            reply = _error_reply(
                429 if error.trouble is ModelTrouble.RATE_LIMIT else 400,
                f"no answer: {error.trouble.value}",
            )
        kind = reply.headers.get("content-type", "application/json")
        # The value is copied into our reply; prevent header injection.
        kind = kind if kind.isascii() and kind.isprintable() else "application/json"
        phrase = http.HTTPStatus(reply.status).phrase if reply.status in _KNOWN else "Answer"
        head = f"HTTP/1.1 {reply.status} {phrase}\r\ncontent-type: {kind}\r\n"
        head += f"content-length: {len(reply.content)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + reply.content)

    async def _paid(self, request: _Request, body: bytes) -> HttpReply:
        """Return the provider's reply.

        The agent also sees rejections, except for those that concern the key.
        """
        replies: list[HttpReply] = []

        async def complete() -> Completion:
            headers = {
                name: request.headers[name]
                for name in self._served.wire.headers
                if name in request.headers
            }
            try:
                async with asyncio.timeout(self._answer_s):
                    reply = await self._served.post(
                        self._served.wire.paths[request.path],
                        {**headers, **self._served.credentials},
                        body,
                    )
            except TimeoutError:
                message = f"no answer within {self._answer_s:g} s"
                raise ModelError(message, trouble=ModelTrouble.DEADLINE, attempts=1) from None
            replies.append(self._without_key(reply))
            if reply.status != http.HTTPStatus.OK:
                raise ModelError("refused", trouble=refusal(reply).trouble, attempts=1)
            return Completion(text="", usage=usage_in(reply.content))

        call = ModelCall(stage="agent", role=Role.FIX, model=self.name, prompt="agent")
        prompt = Prompt(system="", user=body.decode(), max_tokens=MOST_ANSWER_TOKENS)
        try:
            # A random key: an agent's request is never answered from the journal.
            _, paid = await self._till.pay(
                self._account, call, prompt, key=f"agent:{secrets.token_hex(16)}", complete=complete
            )
        except ModelError as error:
            self._calls += error.calls
            if replies:
                return replies[0]
            raise
        self._calls.append(paid)
        return replies[0]

    def _without_key(self, reply: HttpReply) -> HttpReply:
        if reply.status in _AUTH:
            return _error_reply(reply.status, "the key was rejected")
        content = reply.content
        # A provider may quote the key in an error.
        if self._served.key is not None:
            content = content.replace(self._served.key.get_secret_value().encode(), b"***")
        return reply._replace(content=content)


_KNOWN = frozenset(status.value for status in http.HTTPStatus)


def _error_reply(status: int, words: str) -> HttpReply:
    content = json.dumps(
        {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    ).encode()
    return HttpReply(status, {"content-type": "application/json"}, content)


async def _read(reader: asyncio.StreamReader, wire: Wire) -> _Request:
    """Read one bounded request.

    Raises:
        Refused: It asks for anything but a model's answer, or is too long.
        EOFError: The other side closed the connection.
    """
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError:
        raise Refused("the request is too long") from None
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    method, _, rest = first.partition(" ")
    target = rest.rpartition(" ")[0]
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    path = urlsplit(target).path
    # Other paths of the provider could store or fetch data.
    if method != "POST" or path not in wire.paths or len(lines) > MOST_HEADERS:
        raise Refused("only model requests are allowed here")
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return _Request(path, headers, await _chunks(reader))
    length = headers.get("content-length", "")
    # The digits are limited before int(), which is slow on long numbers.
    if not length.isdecimal() or len(length) > _DIGITS or int(length) > MOST_REQUEST_BYTES:
        raise Refused("the request has no length, or is too long")
    return _Request(path, headers, await reader.readexactly(int(length)))


_DIGITS = 8


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while True:
        size = int((await reader.readuntil(b"\r\n")).partition(b";")[0].strip() or b"0", 16)
        if not 0 <= size <= MOST_REQUEST_BYTES - len(body):
            raise Refused("the request is too long")
        body += (await reader.readexactly(size + 2))[:size]
        if not size:
            return bytes(body)
