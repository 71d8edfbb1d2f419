"""The door of an agent's sandbox: what comes through it is one bounded request to one model, paid for like any other.

The key stays here. The agent inside speaks HTTP to an address that leads to a unix socket, and knows no other.
"""

import asyncio
import http
import json
import secrets
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from bot.domain.account import Account, ModelLimits, account_of
from bot.domain.model import Completion, ModelCall, ModelTrouble, Prompt, Question, Role
from bot.domain.model_error import ModelError
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.llm.agent_requests import MOST_ANSWER_TOKENS, Refused, Wire, bounded, usage_in
from bot.llm.agent_served import COMMANDS, AgentServed
from bot.llm.prompts.render import rendered
from bot.llm.providers.replies import Reply, refusal
from bot.llm.spans import Washer
from bot.llm.till import Till
from bot.ports import Clock
from sandbox.gate import needles_of
from sandbox.types import Errand

MOST_REQUEST_BYTES = 8 << 20
MOST_HEADERS = 64
REQUEST_S = 30.0
"""For a request to come in."""
_AUTH = frozenset({401, 403, 407})


class AgentDoors:
    """Gives every mission its door.

    Args:
        served: Which agent.
        till: Pays.
        limits: What models may cost and take.
        clock: Says which day it is.
        secrets: What must never be sent.
    """

    def __init__(
        self, served: AgentServed, till: Till, limits: ModelLimits, *, clock: Clock, secrets: tuple[str, ...] = ()
    ) -> None:
        self._served = served
        self._till = till
        self._limits = limits
        self._clock = clock
        self._secrets = needles_of(secrets)

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> "AgentDoor | None":
        """The door of a mission; None when it has no money."""
        account = account_of(request, policy, self._limits, self._clock.now().date())
        if account.is_penniless:
            return None
        washer = Washer(self._secrets)
        return AgentDoor(self._served, self._till, account, answer_s=self._limits.cli_timeout_s, washer=washer)


class _Request(NamedTuple):
    path: str
    headers: Mapping[str, str]
    body: bytes


class AgentDoor:
    """Answers one agent.

    Args:
        served: Which agent, and the model behind the door.
        till: Pays.
        account: Of the mission.
        answer_s: One answer of the model at most.
        washer: Cleans what the agent is sent with.
    """

    def __init__(self, served: AgentServed, till: Till, account: Account, *, answer_s: float, washer: Washer) -> None:
        self._served = served
        self._till = till
        self._account = account
        self._answer_s = answer_s
        self._washer = washer
        self._calls: list[ModelCall] = []

    @property
    def name(self) -> str:
        """`codex-cli:gpt-…`."""
        return self._served.name

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """What was asked through it."""
        return tuple(self._calls)

    def errand(self, question: Question, *, wall_s: float) -> Errand:
        """What the agent is sent with.

        Args:
            question: Its task.
            wall_s: How long it may take.
        """
        command = self._served.command or COMMANDS.get(self._served.kind, "false")
        variables = {"MODEL": self._served.model}
        return Errand(command=command, task=rendered(question, self._washer).user, variables=variables, wall_s=wall_s)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request and its answer; then the connection ends.

        Args:
            reader: What comes from inside.
            writer: What goes inside.
        """
        try:
            async with asyncio.timeout(REQUEST_S):
                request = await _read(reader, self._served.wire)
            body = bounded(request.body, request.path, self._served.wire, self._served.model)
            reply = await self._paid(request, json.dumps(body, ensure_ascii=False).encode(errors="replace"))
        except Refused as refused:
            reply = _said(400, str(refused))
        except (TimeoutError, EOFError, ValueError, RecursionError):
            return
        except ModelError as error:
            reply = _said(429 if error.trouble is ModelTrouble.RATE_LIMIT else 400, f"no answer: {error.trouble.value}")
        kind = reply.headers.get("content-type", "application/json")
        kind = kind if kind.isascii() and kind.isprintable() else "application/json"
        phrase = http.HTTPStatus(reply.status).phrase if reply.status in _KNOWN else "Answer"
        head = f"HTTP/1.1 {reply.status} {phrase}\r\ncontent-type: {kind}\r\ncontent-length: {len(reply.content)}\r\n"
        writer.write(f"{head}connection: close\r\n\r\n".encode() + reply.content)

    async def _paid(self, request: _Request, body: bytes) -> Reply:
        """The provider's answer; what it refuses is the agent's to read, but for what concerns the key."""
        replies: list[Reply] = []

        async def complete() -> Completion:
            headers = {name: request.headers[name] for name in self._served.wire.headers if name in request.headers}
            try:
                async with asyncio.timeout(self._answer_s):
                    reply = await self._served.post(
                        self._served.wire.paths[request.path], {**headers, **self._served.credentials}, body
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
            # A key of its own: what an agent asks is never answered from the journal.
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

    def _without_key(self, reply: Reply) -> Reply:
        if reply.status in _AUTH:
            return _said(reply.status, "the key was refused")
        content = reply.content
        if self._served.key is not None:
            content = content.replace(self._served.key.get_secret_value().encode(), b"***")
        return reply._replace(content=content)


_KNOWN = frozenset(status.value for status in http.HTTPStatus)


def _said(status: int, words: str) -> Reply:
    content = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": words}}).encode()
    return Reply(status, {"content-type": "application/json"}, content)


async def _read(reader: asyncio.StreamReader, wire: Wire) -> _Request:
    """One request, bounded.

    Raises:
        Refused: it asks for something else than an answer, or is too long.
        EOFError: the other side hung up.
    """
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError:
        raise Refused("the request is too long") from None
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    method, _, rest = first.partition(" ")
    target = rest.rpartition(" ")[0]
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    path = urlsplit(target).path
    if method != "POST" or path not in wire.paths or len(lines) > MOST_HEADERS:
        raise Refused("only the model can be asked here")
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return _Request(path, headers, await _chunks(reader))
    length = headers.get("content-length", "")
    if not length.isdecimal() or len(length) > _DIGITS or int(length) > MOST_REQUEST_BYTES:
        raise Refused("the request says no length, or one that is too long")
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
