"""SupervisedGuest: a Guest made of a line to a supervisor, wherever that runs."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing

from pydantic import Field

from sandbox.backends import replies
from sandbox.backends.conversation import Conversation, after, raise_refusal
from sandbox.backends.link import Link
from sandbox.errors import SandboxDied, SandboxError
from sandbox.guest import wire
from sandbox.spec import SYSTEM_PATH, RunLimits
from sandbox.types import CommandResult, FileEdit, Frozen

LATE_S = 30.0
"""How much later than its limit a command may be reported before the sandbox is given up."""


class Place(Frozen):
    """Where things are inside, and what every command finds in its environment."""

    workdir: str
    guest_dir: str
    environment_python: str
    system_python: str
    env: dict[str, str]
    aliases: dict[str, str] = Field(default_factory=dict)
    """Folders every sandbox has by name, and where they really are in a place that cannot have them there."""
    prefix: tuple[str, ...] = ()
    """Program and arguments every command is started through."""
    tools: str = ""
    """A folder that every PATH ends with, for what a place cannot have in its usual folders."""
    unpack_wall_s: float = 120.0
    max_files: int = 20_000
    export_files: int = 20
    export_bytes: int = Field(default=8 << 20, le=wire.MAX_READ)

    def real(self, text: str) -> str:
        """An argument, a folder or a variable's value, with the aliases in it resolved."""
        for alias, folder in self.aliases.items():
            text = re.sub(rf"(?<![\w./-]){re.escape(alias)}(?![\w.-])", folder.replace("\\", r"\\"), text)
        return text

    def variables(self, more: Mapping[str, str]) -> dict[str, str]:
        """The environment of one command."""
        found = {**self.env, **{name: self.real(value) for name, value in more.items()}}
        return {**found, "PATH": f"{found['PATH']}:{self.tools}"} if self.tools else found


class SupervisedGuest:
    """One running sandbox behind a link.

    Args:
        link: The line to its supervisor.
        place: Where things are inside.
        kill: Ends the sandbox from outside; called when it does not do as it should.
    """

    def __init__(self, link: Link, place: Place, kill: Callable[[], Awaitable[None]]) -> None:
        self._talk = Conversation(link, kill)
        self._place = place
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
        if (await self._talk.greet(hello)).environment:
            self._python = self._place.environment_python

    async def close(self) -> None:
        """Hang up. Closing twice is fine."""
        await self._talk.close()

    async def ping(self) -> None:
        """Whether the supervisor still answers."""
        await self._talk.ask(replies.Reply, op="ping")

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
    ) -> AsyncGenerator[bytes | CommandResult, None]:
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
    ) -> AsyncGenerator[bytes | CommandResult, None]:
        real = self._place.real
        order = {
            "op": "run",
            "argv": [real(argument) for argument in (*self._place.prefix, *argv)],
            "cwd": real(cwd or self.workdir),
            "env": self._place.variables(env or {}),
            "stdin": len(stdin),
            "wall": limits.wall_s,
            "keep": limits.output_bytes,
            "flood": limits.kill_output_bytes,
            "results": limits.results_bytes,
        }
        async with self._talk.turn() as number:
            sender = asyncio.create_task(self._talk.say(wire.encode({"id": number, **order}) + stdin))
            left = limits.results_bytes
            ended = False
            deadline = after(limits.wall_s + LATE_S)
            try:
                while not ended:
                    message = await self._talk.hear(number, deadline)
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
        if self._talk.is_over:
            return
        try:
            await self._talk.say(wire.encode({"op": "kill"}))
            deadline = after(LATE_S)
            while (await self._talk.hear(number, deadline)).get("event") == "results":
                continue
        except SandboxDied:
            return

    async def unpack(self, tar: bytes, folder: str) -> None:
        """Unpack an archive made by us below an absolute folder inside."""
        script = 'mkdir -p -- "$1" && exec tar -x --no-same-owner -f - -C "$1"'
        limits = RunLimits(wall_s=self._place.unpack_wall_s)
        argv = ("/bin/sh", "-c", script, "unpack", folder)
        done = await self.run(argv, limits=limits, cwd="/", env={"PATH": SYSTEM_PATH}, stdin=tar)
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
                await self._talk.ask(replies.Reply, op="write", edits=batch)
                batch, size = [], 0
        if batch:
            await self._talk.ask(replies.Reply, op="write", edits=batch)

    async def read(self, path: str, *, max_bytes: int = 1 << 20) -> bytes | None:
        """A regular file below the checkout; None when there is none."""
        return (await self._talk.ask(replies.Contents, op="read", path=path, limit=max_bytes)).data

    async def list_files(self) -> tuple[str, ...]:
        """Regular files below the checkout, sorted."""
        return (await self._talk.ask(replies.Listed, op="list", limit=self._place.max_files)).paths

    async def snap(self) -> int:
        """Remember the present state; returns the number of files."""
        return (await self._talk.ask(replies.Snapped, op="snap")).files

    async def export(self) -> tuple[FileEdit, ...]:
        """What differs from the last snap.

        Raises:
            ChangeRejected: more changed than an export may hold.
        """
        place = self._place
        answer = await self._talk.ask(replies.Exported, op="export", files=place.export_files, bytes=place.export_bytes)
        return tuple(item.edit() for item in answer.edits)


def _result(argv: tuple[str, ...], message: wire.Message) -> CommandResult:
    raise_refusal(message)
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
