"""Run one command: serve its pipes until it ends or is stopped, then kill all its processes."""

import os
import selectors
import time
from typing import Any, Callable, Dict, List, Optional

from sandbox.guest import counters, wire
from sandbox.guest.reaper import Reaper
from sandbox.guest.seccomp import Kernel
from sandbox.guest.spawn import CommandOrder, ProcessLimits, open_pidfd, spawn

PENDING_INPUT = 1 << 20
"""Limit for standard input that is read in advance; the rest stays in the stream."""

REAP_S = 0.25
"""Maximum interval between two collections of orphans, in seconds."""


class CommandRun:
    """One running command and its pipes.

    Args:
        order: The command to run.
        inbox: The source of `kill` and of the payload for standard input.
        send: Sends a message to the host.
    """

    def __init__(
        self, order: CommandOrder, inbox: wire.MessageReader, send: Callable[[Dict[str, Any]], None]
    ) -> None:
        self.order = order
        self._inbox = inbox
        self._send = send
        self._out, self._err = wire.HeadAndTail(order.keep), wire.HeadAndTail(order.keep)
        self._results_left = order.results
        self._results_total = 0
        self._payload = order.stdin
        self._pending = bytearray()
        self._selector = selectors.DefaultSelector()
        self._open: Dict[int, Callable[[bytes], None]] = {}
        self._stdin = -1
        self._status: Optional[int] = None
        self._listening = False
        self.timed_out = self.flooded = self.killed = False

    def _results(self, data: bytes) -> None:
        self._results_total += len(data)
        kept = data[: self._results_left]
        self._results_left -= len(kept)
        if kept:
            self._send({"id": self.order.id, "event": "results", "data": wire.pack(kept)})

    def _pipes(self) -> List[int]:
        """Create the pipes and return the command's ends."""
        ends = []
        if self.order.stdin:
            end, self._stdin = os.pipe()
            os.set_blocking(self._stdin, False)
            ends.append(end)
        else:
            ends.append(os.open(os.devnull, os.O_RDONLY))
        for taker in (self._out.add, self._err.add, self._results):
            ours, theirs = os.pipe()
            os.set_blocking(ours, False)
            self._open[ours] = taker
            self._selector.register(ours, selectors.EVENT_READ)
            ends.append(theirs)
        return ends

    def _drop(self, fd: int) -> None:
        self._selector.unregister(fd)
        os.close(fd)
        del self._open[fd]

    def _read(self, fd: int) -> bool:
        """Read a pipe once. Return True if there was data."""
        try:
            data = os.read(fd, wire.CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._drop(fd)
            return False
        self._open[fd](data)
        self.flooded = (
            self.flooded
            or self._out.total + self._err.total + self._results_total > self.order.flood
        )
        return True

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            if self._pending:
                self._selector.unregister(self._stdin)
            os.close(self._stdin)
            self._stdin = -1
        self._pending = bytearray()

    def _forward_payload(self) -> None:
        """Move bytes of the payload towards the command's standard input."""
        data = self._inbox.take(min(self._payload, PENDING_INPUT - len(self._pending)))
        self._payload -= len(data)
        if data and self._stdin >= 0:
            if not self._pending:
                self._selector.register(self._stdin, selectors.EVENT_WRITE)
            self._pending += data

    def _write(self) -> None:
        try:
            written = os.write(self._stdin, self._pending[: wire.CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._close_stdin()
            return
        del self._pending[:written]
        if not self._pending:
            self._selector.unregister(self._stdin)

    def _process_messages(self) -> None:
        """Process the host's messages: the rest of the payload, then possibly `kill`."""
        self._forward_payload()
        if not self._payload:
            message = self._inbox.line()
            if message is not None and message.get("op") == "kill":
                self.killed = True

    def _update_listening(self) -> None:
        """Read from the host only while there is room for its data."""
        wanted = len(self._pending) < PENDING_INPUT
        if wanted and not self._listening:
            self._selector.register(self._inbox.fd, selectors.EVENT_READ)
        if not wanted and self._listening:
            self._selector.unregister(self._inbox.fd)
        self._listening = wanted

    def _step(self, timeout: float) -> None:
        self._process_messages()
        if not self._payload and not self._pending:
            self._close_stdin()
        self._update_listening()
        for key, _ in self._selector.select(timeout):
            if key.fd == self._inbox.fd:
                self._inbox.fill()
            elif key.fd == self._stdin:
                self._write()
            elif key.fd in self._open:
                self._read(key.fd)

    def serve(self, pid: int, reaper: Reaper) -> None:
        """Serve the pipes until the command has ended or must be stopped."""
        ended = open_pidfd(pid)
        if ended >= 0:
            self._selector.register(ended, selectors.EVENT_READ)
        end = time.monotonic() + self.order.wall
        pause = 0.001
        while not (self.flooded or self.killed):
            self._status = reaper.collect(pid)
            left = end - time.monotonic()
            self.timed_out = self._status is None and left <= 0
            if self._status is not None or self.timed_out:
                break
            # Without a pidfd, poll at growing intervals.
            pause = REAP_S if ended >= 0 else min(pause * 1.5, 0.02)
            self._step(max(min(left, pause), 0.0))
        if ended >= 0:
            self._selector.unregister(ended)
            os.close(ended)

    def finish(self) -> Dict[str, Any]:
        """Drain the pipes after everything was killed, and return the result."""
        for fd in list(self._open):
            while not self.flooded and self._read(fd):
                pass
            if fd in self._open:
                self._drop(fd)
        self._close_stdin()
        if self._listening:
            self._selector.unregister(self._inbox.fd)
        self._selector.close()
        # The next message starts after the unread input.
        self._inbox.discard(self._payload)
        status = self._status
        exited = status is not None and os.WIFEXITED(status)
        return {
            "exit": os.WEXITSTATUS(status) if status is not None and exited else None,
            "signal": os.WTERMSIG(status)
            if status is not None and os.WIFSIGNALED(status)
            else None,
            "timed_out": self.timed_out,
            "flooded": self.flooded,
            "out": self._out.message(),
            "err": self._err.message(),
        }

    def start(self, kernel: Kernel, limits: ProcessLimits) -> int:
        """Spawn the command with its pipes and return its process id."""
        ends = self._pipes()
        try:
            return spawn(self.order, kernel, limits, ends)
        finally:
            for end in ends:
                os.close(end)


def execute(
    run: CommandRun, kernel: Kernel, limits: ProcessLimits, reaper: Reaper
) -> Dict[str, Any]:
    """Run one command, including the kill of everything that it started.

    Args:
        run: The command.
        kernel: Access to the filter.
        limits: Its limits.
        reaper: Kills leftover processes.
    """
    before, started = counters.read(), time.monotonic()
    try:
        pid = run.start(kernel, limits)
        run.serve(pid, reaper)
        duration = time.monotonic() - started
        reaper.collect()
        survivors = len([alive for alive in reaper.alive() if alive != pid])
    except OSError:
        # Kill everything, and discard what the host still sends for this command.
        reaper.kill_everything()
        run.finish()
        raise
    reaper.kill_everything()
    report = run.finish()
    after = counters.read()
    report.update(
        duration=duration,
        survivors=survivors,
        oom_kills=after["oom_kills"] - before["oom_kills"],
        pids_hits=after["pids_hits"] - before["pids_hits"],
    )
    return report
