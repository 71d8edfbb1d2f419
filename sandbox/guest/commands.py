"""One command: spawned under every limit, its pipes served, and everything it started killed afterwards."""

import os
import resource
import selectors
import signal
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from sandbox.guest import counters, wire
from sandbox.guest.seccomp import Kernel

RESULTS_FD = 3
PENDING_INPUT = 1 << 20
"""Standard input that is read ahead; the rest waits in the stream."""

REAP_S = 0.25
"""Orphans are collected at least this often."""

NOT_FOUND, NOT_ALLOWED = 127, 126
"""The exit statuses a shell gives."""

SIGNALS_TO_RESET = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Order(NamedTuple):
    """What the host asks for."""

    id: int
    argv: List[str]
    cwd: str
    env: Dict[str, str]
    stdin: int
    wall: float
    keep: int
    flood: int
    results: int

    @classmethod
    def read(cls, message: Dict[str, Any]) -> "Order":
        """Read a `run` message.

        Raises:
            ValueError: it is malformed.
        """
        argv = wire.strings(message.get("argv"))
        env = message.get("env")
        if not argv or not isinstance(env, dict):
            raise ValueError("argv and env are needed")
        return cls(
            id=int(message["id"]),
            argv=argv,
            cwd=str(message["cwd"]),
            env={str(name): str(value) for name, value in env.items()},
            stdin=int(message.get("stdin", 0)),
            wall=float(message["wall"]),
            keep=int(message["keep"]),
            flood=int(message["flood"]),
            results=int(message["results"]),
        )


class Reaper:
    """Kills and collects everything that is not us.

    Args:
        alone: Whether we are PID 1 of a namespace of our own; otherwise only descendants are touched.
    """

    def __init__(self, alone: bool) -> None:
        self._alone = alone

    def collect(self, main: int = 0) -> Optional[int]:
        """Collect what has ended; returns the wait status of `main` when it was among it."""
        status = None
        while True:
            try:
                pid, ended = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return status
            if pid == 0:
                return status
            if pid == main:
                status = ended

    def alive(self) -> List[int]:
        """The processes that are not us."""
        parents = counters.processes()
        me = os.getpid()
        return [pid for pid in parents if pid != me] if self._alone else counters.below(me, parents)

    def _strike(self) -> bool:
        """Kill once; returns whether somebody was there."""
        if self._alone:
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                return False
            return True
        victims = self.alive()
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        return bool(victims)

    def kill_everything(self, within: float = 20.0) -> None:
        """Until nobody is left. Needs no fork, so a process limit that is used up does not matter."""
        end = time.monotonic() + within
        pause = 0.0
        while self._strike() and time.monotonic() < end:
            self.collect()
            time.sleep(pause)
            pause = min(pause + 0.0005, 0.01)
        self.collect()


class Limits(NamedTuple):
    """Limits that hold for every command; `None` where the container has them already."""

    files: Optional[int] = None
    file_bytes: Optional[int] = None
    data_bytes: Optional[int] = None
    processes: Optional[int] = None

    def apply(self, wall: float) -> None:
        """Set them on the calling process.

        Args:
            wall: Seconds the command may take; its CPU time is bounded a little above.
        """
        wanted = [
            (resource.RLIMIT_CPU, int(wall) + 2),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, self.files),
            (resource.RLIMIT_FSIZE, self.file_bytes),
            (resource.RLIMIT_DATA, self.data_bytes),
            (resource.RLIMIT_NPROC, self.processes),
        ]
        for which, value in wanted:
            if value is not None:
                hard = resource.getrlimit(which)[1]
                value = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(which, (value, value))


def _become(order: Order, kernel: Kernel, limits: Limits) -> None:
    """In the child: drop what the supervisor has, then become the command. Does not return."""
    for number in SIGNALS_TO_RESET:
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    os.umask(0o022)
    kernel.set_dumpable(1)
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("900")
    except OSError:
        pass
    limits.apply(order.wall)
    os.nice(5)
    try:
        os.chdir(order.cwd)
    except OSError as error:
        os.write(2, ("cannot enter %s: %s\n" % (order.cwd, error.strerror)).encode("utf-8", "replace"))
        os._exit(NOT_ALLOWED)
    kernel.install_filter()
    try:
        os.execvpe(order.argv[0], order.argv, order.env)
    except OSError as error:
        os.write(2, ("%s: %s\n" % (order.argv[0], error.strerror)).encode("utf-8", "replace"))
        os._exit(NOT_FOUND if isinstance(error, (FileNotFoundError, NotADirectoryError)) else NOT_ALLOWED)


def spawn(order: Order, kernel: Kernel, limits: Limits, ends: List[int]) -> int:
    """Start the command; returns its process id.

    Args:
        order: What to run.
        kernel: Access to the filter.
        limits: Its limits.
        ends: Its standard input, output, error and results descriptors.
    """
    pid = os.fork()
    if pid:
        return pid
    try:
        # First out of the way of the numbers 0 to 3, then into place.
        moved = [os.dup(end) if end <= RESULTS_FD else end for end in ends]
        for target, end in enumerate(moved):
            os.dup2(end, target, inheritable=True)
        os.closerange(RESULTS_FD + 1, 1024)
        _become(order, kernel, limits)
    except BaseException as error:
        os.write(2, ("could not start: %r\n" % (error,)).encode("utf-8", "replace"))
    os._exit(NOT_ALLOWED)


class Run:
    """One running command and its pipes.

    Args:
        order: What to run.
        inbox: Where the payload of standard input and `kill` come from.
        send: Sends a message to the host.
    """

    def __init__(self, order: Order, inbox: wire.Inbox, send: Callable[[Dict[str, Any]], None]) -> None:
        self.order = order
        self._inbox = inbox
        self._send = send
        self._out, self._err = wire.Kept(order.keep), wire.Kept(order.keep)
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
        """Make the pipes; returns the command's ends."""
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
        """Read a pipe once; returns whether there was something."""
        try:
            data = os.read(fd, wire.CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._drop(fd)
            return False
        self._open[fd](data)
        self.flooded = self.flooded or self._out.total + self._err.total + self._results_total > self.order.flood
        return True

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            if self._pending:
                self._selector.unregister(self._stdin)
            os.close(self._stdin)
            self._stdin = -1
        self._pending = bytearray()

    def _take_payload(self) -> None:
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

    def _obey(self) -> None:
        """What the host says meanwhile: more payload, then perhaps `kill`."""
        self._take_payload()
        if not self._payload:
            message = self._inbox.line()
            if message is not None and message.get("op") == "kill":
                self.killed = True

    def _listen(self) -> None:
        """Hear the host only while there is room for what it sends."""
        wanted = len(self._pending) < PENDING_INPUT
        if wanted and not self._listening:
            self._selector.register(self._inbox.fd, selectors.EVENT_READ)
        if not wanted and self._listening:
            self._selector.unregister(self._inbox.fd)
        self._listening = wanted

    def _step(self, timeout: float) -> None:
        self._obey()
        if not self._payload and not self._pending:
            self._close_stdin()
        self._listen()
        for key, _ in self._selector.select(timeout):
            if key.fd == self._inbox.fd:
                self._inbox.fill()
            elif key.fd == self._stdin:
                self._write()
            elif key.fd in self._open:
                self._read(key.fd)

    def serve(self, pid: int, reaper: Reaper) -> None:
        """Until the command has ended, or was ended."""
        ended = _watch(pid)
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
            # Without a descriptor that tells the end, ask more and more rarely.
            pause = REAP_S if ended >= 0 else min(pause * 1.5, 0.02)
            self._step(max(min(left, pause), 0.0))
        if ended >= 0:
            self._selector.unregister(ended)
            os.close(ended)

    def finish(self) -> Dict[str, Any]:
        """After everything was killed: take what is left in the pipes, and tell how it ended."""
        for fd in list(self._open):
            while not self.flooded and self._read(fd):
                pass
            if fd in self._open:
                self._drop(fd)
        self._close_stdin()
        if self._listening:
            self._selector.unregister(self._inbox.fd)
        self._selector.close()
        self._inbox.discard(self._payload)
        status = self._status
        exited = status is not None and os.WIFEXITED(status)
        return {
            "exit": os.WEXITSTATUS(status) if status is not None and exited else None,
            "signal": os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None,
            "timed_out": self.timed_out,
            "flooded": self.flooded,
            "out": self._out.message(),
            "err": self._err.message(),
        }

    def start(self, kernel: Kernel, limits: Limits) -> int:
        """Spawn the command with its pipes; returns its process id."""
        ends = self._pipes()
        try:
            return spawn(self.order, kernel, limits, ends)
        finally:
            for end in ends:
                os.close(end)


def _watch(pid: int) -> int:
    """A descriptor that becomes readable when the process ends, or -1 where the kernel has none."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return -1
    try:
        return int(opener(pid))
    except OSError:
        return -1


def execute(run: Run, kernel: Kernel, limits: Limits, reaper: Reaper) -> Dict[str, Any]:
    """Run one command from spawn to silence.

    Args:
        run: The command.
        kernel: Access to the filter.
        limits: Its limits.
        reaper: Ends what it leaves behind.
    """
    before, started = counters.read(), time.monotonic()
    try:
        pid = run.start(kernel, limits)
        run.serve(pid, reaper)
        duration = time.monotonic() - started
        reaper.collect()
        survivors = len([alive for alive in reaper.alive() if alive != pid])
    finally:
        # Whatever goes wrong above, nothing may go on running.
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
