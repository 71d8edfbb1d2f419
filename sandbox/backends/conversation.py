"""The conversation with one supervisor: one request at a time, every answer checked, silence ended."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from sandbox.backends import replies
from sandbox.backends.link import Lines, Link
from sandbox.errors import ChangeRejected, SandboxDied, SandboxError
from sandbox.guest import wire

ANSWER_S = 60.0
"""How long the supervisor may take for anything that is not a command."""

QUEUE_MESSAGES = 50_000
"""Messages nobody has asked for yet; a sandbox that says more is ended."""


class Conversation:
    """Requests to a supervisor and its answers.

    Args:
        link: The line to it.
        kill: Ends the sandbox from outside; called when it does not do as it should.
    """

    def __init__(self, link: Link, kill: Callable[[], Awaitable[None]]) -> None:
        self._link = link
        self._kill = kill
        self._lines = Lines(link)
        self._lock = asyncio.Lock()
        self._holder: asyncio.Task[object] | None = None
        self._number = 0
        self._dead: SandboxDied | None = None
        self._messages: asyncio.Queue[wire.Message | None] = asyncio.Queue(QUEUE_MESSAGES)
        self._reader: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._dead is not None

    async def greet(self, line: bytes | None = None) -> replies.Hello:
        """Wait for the supervisor's first word.

        Args:
            line: Its first line, when it was read already.

        Raises:
            SandboxDied: it is another version, or does not answer.
        """
        try:
            async with asyncio.timeout(ANSWER_S):
                said = await self._lines.next() if line is None else line
        except TimeoutError as error:
            raise SandboxDied("The sandbox did not start in time.") from error
        hello = replies.check(replies.Hello, replies.parse(said))
        if hello.protocol != wire.PROTOCOL or hello.uid == 0:
            raise SandboxDied("The sandbox speaks another version, or runs as root.")
        self._reader = asyncio.create_task(self._receive())
        return hello

    async def close(self) -> None:
        """Hang up. Closing twice is fine."""
        if self._dead is None:
            self._dead = SandboxDied("The sandbox is closed.")
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            self._reader = None
        await self._link.close()

    async def _receive(self) -> None:
        """Take messages off the line as they come: the supervisor must never wait for a slow reader."""
        try:
            while True:
                self._messages.put_nowait(replies.parse(await self._lines.next()))
        except SandboxDied as error:
            self._dead = error
        except asyncio.QueueFull:
            await self._give_up()
        if self._messages.empty():
            self._messages.put_nowait(None)  # wakes who waits

    async def _next(self) -> wire.Message | None:
        if self._dead is not None and self._messages.empty():
            raise self._dead
        return await self._messages.get()

    async def hear(self, number: int, deadline: float) -> wire.Message:
        """The next message about request `number`, before a moment of the loop's clock.

        Raises:
            SandboxDied: it went away, or kept silent until then and was ended.
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
            raise SandboxDied("The sandbox stopped answering and was ended.") from error

    async def say(self, data: bytes) -> None:
        """Send bytes: a message, or the payload behind one."""
        await self._link.send(data)

    async def _give_up(self) -> None:
        self._dead = SandboxDied("The sandbox stopped answering and was ended.")
        await self._kill()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """One request at a time; gives the number of the next.

        Raises:
            SandboxError: this very task has a request open already.
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
        """Ask for something that is not a command.

        Raises:
            ChangeRejected: the supervisor refuses to do it.
            SandboxError: it failed at it.
            SandboxDied: it went away.
        """
        async with self.turn() as number:
            task = asyncio.ensure_future(self._exchange(number, request))
            try:
                answer = await asyncio.shield(task)
            except asyncio.CancelledError:
                # The line stays in step: the answer is awaited even when nobody wants it any more.
                await asyncio.gather(task, return_exceptions=True)
                raise
        raise_refusal(answer)
        return replies.check(kind, answer)

    async def _exchange(self, number: int, request: Mapping[str, object]) -> wire.Message:
        await self._link.send(wire.encode({"id": number, **request}))
        return await self.hear(number, after(ANSWER_S))


def after(seconds: float) -> float:
    """A moment of the running loop's clock."""
    return asyncio.get_running_loop().time() + seconds


def raise_refusal(message: wire.Message) -> None:
    """Turn an answer that is an error into one of ours."""
    if "error" in message:
        refusal = replies.check(replies.Refusal, message)
        kind = ChangeRejected if refusal.error == "refused" else SandboxError
        raise kind(f"The sandbox says: {refusal.detail}")
