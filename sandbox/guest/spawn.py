"""Starts one command: its pipes in place, every limit set, the filter stacked, nothing of the supervisor left."""

import os
import resource
import signal
from typing import Any, Dict, List, NamedTuple, Optional

from sandbox.guest import wire
from sandbox.guest.seccomp import Kernel

RESULTS_FD = 3

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


def watch(pid: int) -> int:
    """A descriptor that becomes readable when the process ends, or -1 where the kernel has none."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return -1
    try:
        return int(opener(pid))
    except OSError:
        return -1
