"""Start one command: pipes in place, limits set, filter installed."""

import errno
import os
import resource
import signal
from typing import Any, Dict, List, NamedTuple, Optional

from sandbox.guest import wire
from sandbox.guest.seccomp import Kernel

RESULTS_FD = 3

NOT_FOUND, NOT_ALLOWED = 127, 126
"""The exit statuses of a shell."""

SIGNALS_TO_RESET = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
)


class CommandOrder(NamedTuple):
    """The host's request for a command."""

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
    def read(cls, message: Dict[str, Any]) -> "CommandOrder":
        """Parse a `run` message.

        Raises:
            ValueError: The message is malformed.
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


class ProcessLimits(NamedTuple):
    """Limits of every command; `None` if the container has them already."""

    files: Optional[int] = None
    file_bytes: Optional[int] = None
    data_bytes: Optional[int] = None
    processes: Optional[int] = None

    def apply(self, wall: float) -> None:
        """Apply the limits to the calling process.

        Args:
            wall: Time limit of the command in seconds; its CPU limit is slightly higher.
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


def _exec(order: CommandOrder, kernel: Kernel, limits: ProcessLimits) -> None:
    """Drop the supervisor's state in the child and become the command. Does not return."""
    for number in SIGNALS_TO_RESET:
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    os.umask(0o022)
    kernel.set_dumpable(1)
    try:
        # Out of memory should kill the command and not the supervisor.
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("900")
    except OSError:
        pass
    limits.apply(order.wall)
    os.nice(5)
    try:
        os.chdir(order.cwd)
    except OSError as error:
        os.write(
            2, ("cannot enter %s: %s\n" % (order.cwd, error.strerror)).encode("utf-8", "replace")
        )
        os._exit(NOT_ALLOWED)
    kernel.install_filter()
    try:
        os.execvpe(order.argv[0], order.argv, order.env)
    except OSError as error:
        # A folder of PATH that is closed to this user hides that no folder has the program.
        missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        missing = missing or not _is_on_path(order)
        reason = os.strerror(errno.ENOENT) if missing else error.strerror
        os.write(2, ("%s: %s\n" % (order.argv[0], reason)).encode("utf-8", "replace"))
        os._exit(NOT_FOUND if missing else NOT_ALLOWED)


def _is_on_path(order: CommandOrder) -> bool:
    """Return True if the command names a file or a folder of PATH has it."""
    name = order.argv[0]
    return "/" in name or any(
        os.path.exists(os.path.join(folder, name)) for folder in os.get_exec_path(order.env)
    )


def spawn(order: CommandOrder, kernel: Kernel, limits: ProcessLimits, ends: List[int]) -> int:
    """Start the command and return its process id.

    Args:
        order: The request.
        kernel: Access to the filter.
        limits: Its limits.
        ends: Its descriptors for standard input, output, error and results.
    """
    pid = os.fork()
    if pid:
        return pid
    try:
        # Move them away from the numbers 0 to 3 first, then into place.
        moved = [os.dup(end) if end <= RESULTS_FD else end for end in ends]
        for target, end in enumerate(moved):
            os.dup2(end, target, inheritable=True)
        # The command must not inherit the supervisor's descriptors.
        os.closerange(RESULTS_FD + 1, 1024)
        _exec(order, kernel, limits)
    except BaseException as error:
        os.write(2, ("could not start: %r\n" % (error,)).encode("utf-8", "replace"))
    os._exit(NOT_ALLOWED)


def open_pidfd(pid: int) -> int:
    """Return a descriptor that is readable after the process ends, or -1 if unsupported."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return -1
    try:
        return int(opener(pid))
    except OSError:
        return -1
