"""The exchange with one supervisor: one request at a time, validated replies, timeouts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from sandbox.backends import replies
from sandbox.backends.link import Lines, Link
from sandbox.errors import ChangeRejected, SandboxDied, SandboxError
from sandbox.guest import wire

ANSWER_S = 60.0
"""Timeout for replies of the supervisor to anything but commands, in seconds."""

QUEUE_MESSAGES = 50_000
"""Limit of unread messages; a sandbox that sends more is killed."""


class Conversation:
    """Requests to a supervisor and its replies.

    Args:
        link: The connection to the supervisor.
        kill: Kills the sandbox from outside; called if it misbehaves.
    """

    def __init__(self, link: Link, kill: Callable[[], Awaitable[None]]) -> None:
        self._link = link
        self._kill = kill
        self._lines = Lines(link)
        self._lock = asyncio.Lock()
        self._holder: asyncio.Task[object] | None = None
        self._number = 0
        self._dead: SandboxDied | None = None
        # Bounded: an untrusted sandbox must not fill the host's memory.
        self._messages: asyncio.Queue[wire.Message | None] = asyncio.Queue(QUEUE_MESSAGES)
        self._reader: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        """Return True if no further request is possible."""
        return self._dead is not None

    async def greet(self, line: bytes | None = None) -> replies.Hello:
        """Wait for the supervisor's first message.

        Args:
            line: Its first line, if it was read already.

        Raises:
            SandboxDied: It has another version, or does not respond.
        """
        try:
            async with asyncio.timeout(ANSWER_S):
                first = await self._lines.next() if line is None else line
        except TimeoutError as error:
            raise SandboxDied("The sandbox did not start in time.") from error
        hello = replies.check(replies.Hello, replies.parse(first))
        if hello.protocol != wire.PROTOCOL or hello.uid == 0:
            raise SandboxDied("The sandbox has another protocol version, or runs as root.")
        self._reader = asyncio.create_task(self._receive())
        return hello

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        if self._dead is None:
            self._dead = SandboxDied("The sandbox is closed.")
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            self._reader = None
        await self._link.close()

    async def _receive(self) -> None:
        """Queue messages as they arrive, so that the supervisor never waits for a slow reader."""
        try:
            while True:
                self._messages.put_nowait(replies.parse(await self._lines.next()))
        except SandboxDied as error:
            self._dead = error
        except asyncio.QueueFull:
            await self._give_up()
        if self._messages.empty():
            self._messages.put_nowait(None)  # wake up the waiting reader

    async def _next(self) -> wire.Message | None:
        if self._dead is not None and self._messages.empty():
            raise self._dead
        return await self._messages.get()

    async def receive_reply(self, number: int, deadline: float) -> wire.Message:
        """Return the next message for request `number`, before a deadline of the loop's clock.

        Raises:
            SandboxDied: The sandbox went away, or did not respond in time and was killed.
        """
        try:
            while True:
                if self._messages.empty():
                    async with asyncio.timeout_at(deadline):
                        message = await self._next()
                else:
                    message = self._messages.get_nowait()
                if message is not None and message.get("id") == number:
                    return message
        except TimeoutError as error:
            await self._give_up()
            raise SandboxDied("The sandbox stopped responding and was killed.") from error

    async def say(self, data: bytes) -> None:
        """Send bytes: a message, or the payload after one."""
        await self._link.send(data)

    async def _give_up(self) -> None:
        self._dead = SandboxDied("The sandbox stopped responding and was killed.")
        await self._kill()

    @asynccontextmanager
    async def request_slot(self) -> AsyncIterator[int]:
        """Acquire the connection for one request and yield its number.

        Raises:
            SandboxError: This task already has an open request.
        """
        me = asyncio.current_task()
        if self._lock.locked() and self._holder is me:
            raise SandboxError("A sandbox runs one command at a time: end the stream first.")
        async with self._lock:
            if self._dead is not None:
                raise self._dead
            self._holder = me
            self._number += 1
            try:
                yield self._number
            finally:
                self._holder = None

    async def ask(self, kind: type[replies.AnyReply], **request: object) -> replies.AnyReply:
        """Send a request that is not a command, and return the reply.

        Raises:
            ChangeRejected: The supervisor refuses the request.
            SandboxError: The request failed.
            SandboxDied: The sandbox went away.
        """
        async with self.request_slot() as number:
            task = asyncio.ensure_future(self._exchange(number, request))
            try:
                answer = await asyncio.shield(task)
            except asyncio.CancelledError:
                # The reply must be read even after cancellation, to keep requests and replies in
                # step.
                await asyncio.gather(task, return_exceptions=True)
                raise
        raise_refusal(answer)
        return replies.check(kind, answer)

    async def _exchange(self, number: int, request: Mapping[str, object]) -> wire.Message:
        await self._link.send(wire.encode({"id": number, **request}))
        return await self.receive_reply(number, deadline_in(ANSWER_S))


def deadline_in(seconds: float) -> float:
    """Return a deadline of the running loop's clock."""
    return asyncio.get_running_loop().time() + seconds


def raise_refusal(message: wire.Message) -> None:
    """Raise the error that a reply describes, if any."""
    if "error" in message:
        refusal = replies.check(replies.Refusal, message)
        kind = ChangeRejected if refusal.error == "refused" else SandboxError
        raise kind(f"The sandbox reports: {refusal.detail}")
