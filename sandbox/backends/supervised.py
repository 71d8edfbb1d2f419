"""SupervisedGuest: a Guest made of a line to a supervisor, wherever that runs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager

from pydantic import Field

from sandbox.backends import replies
from sandbox.backends.link import Lines, Link
from sandbox.errors import ChangeRejected, SandboxDied, SandboxError
from sandbox.guest import wire
from sandbox.spec import RunLimits
from sandbox.types import CommandResult, FileEdit, Frozen

ANSWER_S = 60.0
"""How long the supervisor may take for anything that is not a command."""

LATE_S = 30.0
"""How much later than its limit a command may be reported before the sandbox is given up."""

QUEUE_MESSAGES = 50_000
"""Messages nobody has asked for yet; a sandbox that says more is ended."""


class Place(Frozen):
    """Where things are inside, and what every command finds in its environment."""

    workdir: str
    guest_dir: str
    environment_python: str
    system_python: str
    env: dict[str, str]
    unpack_wall_s: float = 120.0
    max_files: int = 20_000
    export_files: int = 20
    export_bytes: int = Field(default=8 << 20, le=wire.MAX_READ)


class SupervisedGuest:
    """One running sandbox behind a link.

    Args:
        link: The line to its supervisor.
        place: Where things are inside.
        kill: Ends the sandbox from outside; called when it does not do as it should.
    """

    def __init__(self, link: Link, place: Place, kill: Callable[[], Awaitable[None]]) -> None:
        self._link = link
        self._place = place
        self._kill = kill
        self._lines = Lines(link)
        self._lock = asyncio.Lock()
        self._holder: asyncio.Task[object] | None = None
        self._number = 0
        self._dead: SandboxDied | None = None
        self._messages: asyncio.Queue[wire.Message | None] = asyncio.Queue(QUEUE_MESSAGES)
        self._reader: asyncio.Task[None] | None = None
        self._python = place.system_python

    @property
    def workdir(self) -> str:
        """The folder of the checkout, inside."""
        return self._place.workdir

    @property
    def guest_dir(self) -> str:
        """The folder of the guest programs, inside."""
        return self._place.guest_dir

    @property
    def python(self) -> str:
        """The interpreter of the repository's environment, inside."""
        return self._python

    async def greet(self, hello: bytes | None = None) -> None:
        """Wait for the supervisor's first word.

        Args:
            hello: The line, when it was read already.

        Raises:
            SandboxDied: it is another version, or does not answer.
        """
        try:
            async with asyncio.timeout(ANSWER_S):
                line = await self._lines.next() if hello is None else hello
        except TimeoutError as error:
            raise SandboxDied("The sandbox did not start in time.") from error
        word = replies.check(replies.Hello, replies.parse(line))
        if word.protocol != wire.PROTOCOL or word.uid == 0:
            raise SandboxDied("The sandbox speaks another version, or runs as root.")
        if word.environment:
            self._python = self._place.environment_python
        self._reader = asyncio.create_task(self._receive())

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

    async def _message(self, number: int, deadline: float) -> wire.Message:
        """The next message about request `number`, before a moment of the loop's clock."""
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

    def _in(self, seconds: float) -> float:
        return asyncio.get_running_loop().time() + seconds

    async def _give_up(self) -> None:
        self._dead = SandboxDied("The sandbox stopped answering and was ended.")
        await self._kill()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[int]:
        """One request at a time; gives the number of the next."""
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

    async def _ask(self, kind: type[replies.AnyReply], **request: object) -> replies.AnyReply:
        """Ask for something that is not a command."""
        async with self._turn() as number:
            task = asyncio.ensure_future(self._exchange(number, request))
            try:
                answer = await asyncio.shield(task)
            except asyncio.CancelledError:
                # The line stays in step: the answer is awaited even when nobody wants it any more.
                await asyncio.gather(task, return_exceptions=True)
                raise
        if "error" in answer:
            refusal = replies.check(replies.Refusal, answer)
            raise (ChangeRejected if refusal.error == "refused" else SandboxError)(
                f"The sandbox says: {refusal.detail}"
            )
        return replies.check(kind, answer)

    async def _exchange(self, number: int, request: Mapping[str, object]) -> wire.Message:
        await self._link.send(wire.encode({"id": number, **request}))
        return await self._message(number, self._in(ANSWER_S))

    async def ping(self) -> None:
        """Whether the supervisor still answers."""
        await self._ask(replies.Reply, op="ping")

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> CommandResult:
        """Run one command to its end or its limit."""
        pieces: list[bytes] = []
        result: CommandResult | None = None
        async with aclosing(self._command(argv, limits=limits, cwd=cwd, env=env, stdin=stdin)) as items:
            async for item in items:
                if isinstance(item, CommandResult):
                    result = item
                else:
                    pieces.append(item)
        if result is None:
            raise SandboxDied("The sandbox did not report the end of a command.")
        return result.with_(results=b"".join(pieces))

    async def stream(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> AsyncIterator[bytes | CommandResult]:
        """Run one command; yield the lines of its results channel, then how it ended."""
        kept, open_line = bytearray(), bytearray()
        async with aclosing(self._command(argv, limits=limits, cwd=cwd, env=env, stdin=stdin)) as items:
            async for item in items:
                if isinstance(item, CommandResult):
                    if open_line:
                        yield bytes(open_line)
                    yield item.with_(results=bytes(kept))
                else:
                    kept += item
                    *lines, rest = item.split(b"\n")
                    for line in lines:
                        yield bytes(open_line) + line
                        open_line.clear()
                    open_line += rest

    async def _command(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None,
        env: Mapping[str, str] | None,
        stdin: bytes,
    ) -> AsyncIterator[bytes | CommandResult]:
        order = {
            "op": "run",
            "argv": list(argv),
            "cwd": cwd or self.workdir,
            "env": {**self._place.env, **(env or {})},
            "stdin": len(stdin),
            "wall": limits.wall_s,
            "keep": limits.output_bytes,
            "flood": limits.kill_output_bytes,
            "results": limits.results_bytes,
        }
        async with self._turn() as number:
            sender = asyncio.create_task(self._link.send(wire.encode({"id": number, **order}) + stdin))
            left = limits.results_bytes
            ended = False
            deadline = self._in(limits.wall_s + LATE_S)
            try:
                while not ended:
                    message = await self._message(number, deadline)
                    if message.get("event") == "results":
                        data = replies.check(replies.Results, message).data[:left]
                        left -= len(data)
                        yield data
                        continue
                    ended = True
                    yield _result(argv, message)
            finally:
                if not ended:
                    await self._abort(number)
                await asyncio.gather(sender, return_exceptions=True)

    async def _abort(self, number: int) -> None:
        """Nobody wants the rest: kill the command, and wait until the supervisor says it is dead."""
        if self._dead is not None:
            return
        try:
            await self._link.send(wire.encode({"op": "kill"}))
            deadline = self._in(LATE_S)
            while (await self._message(number, deadline)).get("event") == "results":
                continue
        except SandboxDied:
            return

    async def unpack(self, tar: bytes, folder: str) -> None:
        """Unpack an archive made by us below an absolute folder inside."""
        script = 'mkdir -p -- "$1" && exec tar -x --no-same-owner -f - -C "$1"'
        limits = RunLimits(wall_s=self._place.unpack_wall_s)
        done = await self.run(("/bin/sh", "-c", script, "unpack", folder), limits=limits, cwd="/", stdin=tar)
        if not done.ok:
            raise SandboxError(f"An archive could not be unpacked in the sandbox: {done.stderr[-300:].strip()}")

    async def write(self, edits: Iterable[FileEdit]) -> None:
        """Write or delete files below the checkout, never through a link."""
        batch: list[wire.Message] = []
        size = 0
        for edit in edits:
            batch.append({"path": edit.path, "mode": edit.mode, "data": wire.pack(edit.content)})
            size += len(edit.content)
            if size > wire.MAX_READ:
                await self._ask(replies.Reply, op="write", edits=batch)
                batch, size = [], 0
        if batch:
            await self._ask(replies.Reply, op="write", edits=batch)

    async def read(self, path: str, *, max_bytes: int = 1 << 20) -> bytes | None:
        """A regular file below the checkout; None when there is none."""
        return (await self._ask(replies.Contents, op="read", path=path, limit=max_bytes)).data

    async def list_files(self) -> tuple[str, ...]:
        """Regular files below the checkout, sorted."""
        return (await self._ask(replies.Listed, op="list", limit=self._place.max_files)).paths

    async def snap(self) -> int:
        """Remember the present state; returns the number of files."""
        return (await self._ask(replies.Snapped, op="snap")).files

    async def export(self) -> tuple[FileEdit, ...]:
        """What differs from the last snap.

        Raises:
            ChangeRejected: more changed than an export may hold.
        """
        place = self._place
        answer = await self._ask(replies.Exported, op="export", files=place.export_files, bytes=place.export_bytes)
        return tuple(item.edit() for item in answer.edits)


def _result(argv: tuple[str, ...], message: wire.Message) -> CommandResult:
    if "error" in message:
        refusal = replies.check(replies.Refusal, message)
        raise SandboxError(f"The sandbox says: {refusal.detail}")
    ran = replies.check(replies.Ran, message)
    return CommandResult(
        argv=argv,
        exit_code=ran.exit,
        signal=ran.signal,
        timed_out=ran.timed_out,
        flooded=ran.flooded,
        oom_kills=max(ran.oom_kills, 0),
        survivors=ran.survivors,
        stdout=ran.out.text(),
        stderr=ran.err.text(),
        duration_s=ran.duration,
    )
