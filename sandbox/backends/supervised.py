"""A Guest that is a connection to a supervisor, for all backends."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing

from pydantic import Field

from sandbox.backends import replies
from sandbox.backends.conversation import Conversation, deadline_in, raise_refusal
from sandbox.backends.link import Link
from sandbox.errors import SandboxDied, SandboxError
from sandbox.guest import wire
from sandbox.spec import SYSTEM_PATH, RunLimits
from sandbox.types import CommandResult, FileEdit, Frozen

LATE_S = 30.0
"""Seconds after a command's time limit until the sandbox is considered dead."""


class GuestPaths(Frozen):
    """Paths inside a sandbox, and the environment of every command."""

    workdir: str
    guest_dir: str
    environment_python: str
    system_python: str
    env: dict[str, str]
    aliases: dict[str, str] = Field(default_factory=dict)
    """Paths that every sandbox has, and their real folders where a backend cannot provide them."""
    prefix: tuple[str, ...] = ()
    """Program and arguments that start every command."""
    tools: str = ""
    """A folder at the end of every PATH, for tools that a backend cannot install in the system
    folders.
    """
    unpack_wall_s: float = 120.0
    max_files: int = 20_000
    export_files: int = 20
    export_bytes: int = Field(default=8 << 20, le=wire.MAX_READ)

    def resolve(self, text: str) -> str:
        """Resolve the aliases in an argument, a folder or a variable's value."""
        for alias, folder in self.aliases.items():
            text = re.sub(
                # Match whole paths only: /opt/env is no part of /opt/environment.
                rf"(?<![\w./-]){re.escape(alias)}(?![\w.-])",
                folder.replace("\\", r"\\"),
                text,
            )
        return text

    def variables(self, more: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of one command."""
        found = {**self.env, **{name: self.resolve(value) for name, value in more.items()}}
        return {**found, "PATH": f"{found['PATH']}:{self.tools}"} if self.tools else found


class SupervisedGuest:
    """One running sandbox behind a link.

    Args:
        link: The connection to its supervisor.
        place: Paths inside.
        kill: Kills the sandbox from outside; called if it misbehaves.
    """

    def __init__(self, link: Link, place: GuestPaths, kill: Callable[[], Awaitable[None]]) -> None:
        self._talk = Conversation(link, kill)
        self._place = place
        self._python = place.system_python

    @property
    def workdir(self) -> str:
        """Return the folder of the checkout inside."""
        return self._place.workdir

    @property
    def guest_dir(self) -> str:
        """Return the folder of the guest programs inside."""
        return self._place.guest_dir

    @property
    def python(self) -> str:
        """Return the interpreter of the repository's environment inside."""
        return self._python

    async def greet(self, hello: bytes | None = None) -> None:
        """Wait for the supervisor's first message.

        Args:
            hello: The line, if it was read already.

        Raises:
            SandboxDied: It has another version, or does not respond.
        """
        if (await self._talk.greet(hello)).environment:
            self._python = self._place.environment_python

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        await self._talk.close()

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> CommandResult:
        """Run one command until it ends or reaches a limit."""
        pieces: list[bytes] = []
        result: CommandResult | None = None
        async with aclosing(
            self._command(argv, limits=limits, cwd=cwd, env=env, stdin=stdin)
        ) as items:
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
        """Run one command and yield the lines of its results channel, then its result."""
        kept, open_line = bytearray(), bytearray()
        async with aclosing(
            self._command(argv, limits=limits, cwd=cwd, env=env, stdin=stdin)
        ) as items:
            async for item in items:
                if isinstance(item, CommandResult):
                    if open_line:
                        yield bytes(open_line)
                    yield item.with_(results=bytes(kept))
                else:
                    kept += item
                    # A piece may end within a line; its rest belongs to the next piece.
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
        resolve = self._place.resolve
        order = {
            "op": "run",
            "argv": [resolve(argument) for argument in (*self._place.prefix, *argv)],
            "cwd": resolve(cwd or self.workdir),
            "env": self._place.variables(env or {}),
            "stdin": len(stdin),
            "wall": limits.wall_s,
            "keep": limits.output_bytes,
            "flood": limits.kill_output_bytes,
            "results": limits.results_bytes,
        }
        async with self._talk.request_slot() as number:
            sender = asyncio.create_task(
                self._talk.say(wire.encode({"id": number, **order}) + stdin)
            )
            left = limits.results_bytes
            ended = False
            deadline = deadline_in(limits.wall_s + LATE_S)
            try:
                while not ended:
                    message = await self._talk.receive_reply(number, deadline)
                    if message.get("event") == "results":
                        # The supervisor limits the results as well, but the host does not rely on
                        # that.
                        data = replies.check(replies.Results, message).data[:left]
                        left -= len(data)
                        yield data
                        continue
                    ended = True
                    yield _to_result(argv, message)
            finally:
                if not ended:
                    await self._abort(number)
                await asyncio.gather(sender, return_exceptions=True)

    async def _abort(self, number: int) -> None:
        """Kill the command of a closed iterator, and wait until the supervisor reports its end."""
        if self._talk.is_over:
            return
        try:
            await self._talk.say(wire.encode({"op": "kill"}))
            deadline = deadline_in(LATE_S)
            while (await self._talk.receive_reply(number, deadline)).get("event") == "results":
                continue
        except SandboxDied:
            return

    async def unpack(self, tar: bytes, folder: str) -> None:
        """Unpack an archive of ours below an absolute folder inside."""
        script = 'mkdir -p -- "$1" && exec tar -x --no-same-owner -f - -C "$1"'
        limits = RunLimits(wall_s=self._place.unpack_wall_s)
        argv = ("/bin/sh", "-c", script, "unpack", folder)
        done = await self.run(argv, limits=limits, cwd="/", env={"PATH": SYSTEM_PATH}, stdin=tar)
        if not done.ok:
            raise SandboxError(
                f"An archive could not be unpacked in the sandbox: {done.stderr[-300:].strip()}"
            )

    async def write(self, edits: Iterable[FileEdit]) -> None:
        """Write or delete files below the checkout, never through a link."""
        batch: list[wire.Message] = []
        size = 0
        for edit in edits:
            batch.append({"path": edit.path, "mode": edit.mode, "data": wire.pack(edit.content)})
            size += len(edit.content)
            if size > wire.MAX_READ:
                await self._talk.ask(replies.GuestReply, op="write", edits=batch)
                batch, size = [], 0
        if batch:
            await self._talk.ask(replies.GuestReply, op="write", edits=batch)

    async def read(self, path: str, *, max_bytes: int = 1 << 20) -> bytes | None:
        """Read a regular file below the checkout; return None if there is none."""
        return (await self._talk.ask(replies.Contents, op="read", path=path, limit=max_bytes)).data

    async def list_files(self) -> tuple[str, ...]:
        """List the regular files below the checkout, sorted."""
        return (await self._talk.ask(replies.Listed, op="list", limit=self._place.max_files)).paths

    async def snap(self) -> int:
        """Save the current state. Return the number of files."""
        return (await self._talk.ask(replies.Snapped, op="snap")).files

    async def export(self) -> tuple[FileEdit, ...]:
        """Return the changes since the last `snap`.

        Raises:
            ChangeRejected: The changes exceed the limits of an export.
        """
        place = self._place
        answer = await self._talk.ask(
            replies.Exported, op="export", files=place.export_files, bytes=place.export_bytes
        )
        return tuple(item.edit() for item in answer.edits)


def _to_result(argv: tuple[str, ...], message: wire.Message) -> CommandResult:
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
