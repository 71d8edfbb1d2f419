"""Run a command-line agent in its own session, with a deadline and bounded output."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from typing_extensions import override

STDOUT_BYTES = 4 << 20
STDERR_BYTES = 64 << 10
"""The end is kept, because errors come last."""
GRACE_S = 2.0
"""Time between SIGTERM and SIGKILL, in seconds."""
DRAIN_S = 1.0
"""Timeout for the rest of the output, in seconds. Children outside the process group may hold pipes
open."""


class ProcessEnd(Enum):
    """Reason for the end of a process."""

    ITSELF = "itself"
    DEADLINE = "deadline"
    FLOOD = "flood"
    HOPELESS = "hopeless"


@dataclass(frozen=True)
class CliCommand:
    """A command that runs without a shell."""

    argv: tuple[str, ...]
    stdin: bytes = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    """The complete environment; one variable holds a key."""
    folder: Path


@dataclass(frozen=True)
class CliOutput:
    """Result of a command."""

    ended: ProcessEnd
    status: int | None
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)


def never(_: bytes) -> bool:
    """Return False: no output is hopeless."""
    return False


async def run_cli(
    command: CliCommand, *, deadline_s: float, is_hopeless: Callable[[bytes], bool] = never
) -> CliOutput:
    """Run a command to its end or limit.

    Afterwards, and when cancelled, its whole process group is dead.

    Args:
        command: The command.
        deadline_s: Time limit in seconds, including the kill.
        is_hopeless: Called with all standard output after each chunk; True ends the process.

    Raises:
        OSError: The command cannot be started.
    """
    loop = asyncio.get_running_loop()
    transport, watch = await loop.subprocess_exec(
        lambda: _Watch(loop, is_hopeless),
        *command.argv,
        cwd=command.folder,
        env=dict(command.environment),
        # A process group of its own, so that its children die with it.
        start_new_session=True,
    )
    try:
        stdin = transport.get_pipe_transport(0)
        if isinstance(stdin, asyncio.WriteTransport):
            stdin.write(command.stdin)
            stdin.write_eof()
        # The time for a graceful end is part of the deadline.
        grace_s = min(GRACE_S, deadline_s / 10)
        await asyncio.wait({watch.ended}, timeout=deadline_s - grace_s)
        ended = watch.ended.result() if watch.ended.done() else ProcessEnd.DEADLINE
        if not watch.exited.done():
            _signal_group(transport.get_pid(), signal.SIGTERM)
            await asyncio.wait({watch.exited}, timeout=grace_s)
    finally:
        _signal_group(
            transport.get_pid(), signal.SIGKILL
        )  # whatever it left behind in its group, too
        await asyncio.wait({watch.exited}, timeout=DRAIN_S)
        await asyncio.wait({watch.drained}, timeout=DRAIN_S)
        transport.close()
    return CliOutput(ended, transport.get_returncode(), bytes(watch.stdout), bytes(watch.stderr))


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


class _Watch(asyncio.SubprocessProtocol):
    """Collects bounded output and detects the end of the process."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, is_hopeless: Callable[[bytes], bool]
    ) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.ended: asyncio.Future[ProcessEnd] = loop.create_future()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()
        self._is_hopeless = is_hopeless
        self._open = {1, 2}

    @override
    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self.stderr += data
            del self.stderr[:-STDERR_BYTES]
            return
        room = STDOUT_BYTES - len(self.stdout)
        self.stdout += data[:room]
        if len(data) > room:
            self._end(ProcessEnd.FLOOD)
        elif self._is_hopeless(bytes(self.stdout)):
            self._end(ProcessEnd.HOPELESS)

    @override
    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open and not self.drained.done():
            self.drained.set_result(None)

    @override
    def process_exited(self) -> None:
        self.exited.set_result(None)
        self._end(ProcessEnd.ITSELF)

    def _end(self, why: ProcessEnd) -> None:
        if not self.ended.done():
            self.ended.set_result(why)
