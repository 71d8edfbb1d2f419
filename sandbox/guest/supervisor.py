"""PID 1 of the sandbox: runs commands, kills everything after each, counts, and serves files.

Commands cannot reach it: the kernel delivers no signal to PID 1 from inside its own namespace, and
it is not dumpable, so that processes of the same user cannot open its memory, descriptors and
environment.
"""

import contextlib
import json
import os
import signal
import sys
from typing import Any, Callable, Dict, List, Optional

from sandbox.guest import commands, files, tree, wire
from sandbox.guest.inside import PathRefused, open_root, split_path
from sandbox.guest.reaper import Reaper
from sandbox.guest.seccomp import Kernel
from sandbox.guest.spawn import CommandOrder, ProcessLimits

Answer = Dict[str, Any]


class GuestSupervisor:
    """Serves the host's requests one after the other.

    Args:
        settings: `workdir`, `python` (of the environment), `alone` (PID 1 or not) and `limits`.
        inbox: The host's messages.
        outbox: The replies.
    """

    def __init__(
        self, settings: Dict[str, Any], inbox: wire.MessageReader, outbox: wire.MessageWriter
    ) -> None:
        self._settings = settings
        self._inbox = inbox
        self._outbox = outbox
        self._kernel = Kernel()
        self._reaper = Reaper(alone=bool(settings["alone"]))
        self._root = str(settings["workdir"])
        self._tree = tree.WorkTree(self._root)
        self._limits = ProcessLimits(**settings.get("limits", {}))
        self._ops: Dict[str, Callable[[wire.Message], Answer]] = {
            "run": self._run,
            "snap": lambda _: {"files": self._tree.snap()},
            "export": self._export,
            "list": lambda message: {"paths": self._tree.files(int(message["limit"]))},
            "read": self._read,
            "write": self._write,
            "kill": lambda _: {},
        }

    def prepare(self) -> Answer:
        """Protect this process from commands, and return the hello message."""
        for number in (
            signal.SIGINT,
            signal.SIGTERM,
            signal.SIGHUP,
            signal.SIGUSR1,
            signal.SIGUSR2,
            signal.SIGQUIT,
        ):
            signal.signal(number, signal.SIG_DFL)
        self._kernel.set_dumpable(0)
        self._kernel.no_new_privileges()
        if not self._settings["alone"]:
            self._kernel.become_subreaper()
        self._kernel.release_memory()
        os.makedirs(str(self._settings["workdir"]), mode=0o755, exist_ok=True)
        return {
            "event": "hello",
            "protocol": wire.PROTOCOL,
            "pid": os.getpid(),
            "uid": os.getuid(),
            "filters": self._kernel.filters,
            "environment": os.access(str(self._settings["python"]), os.X_OK),
        }

    def serve(self) -> None:
        """Serve until the host is gone, then kill everything."""
        try:
            self._outbox.send(self.prepare())
            while True:
                message = self._inbox.next()
                answer = self._answer(message)
                if answer is not None:
                    self._outbox.send(answer)
        except (wire.Closed, BrokenPipeError, ConnectionResetError):
            self._reaper.kill_everything(within=5.0)

    def _answer(self, message: wire.Message) -> Optional[Answer]:
        number, op = message.get("id"), message.get("op")
        handler = self._ops.get(op) if isinstance(op, str) else None
        if op == "kill":
            return None  # the command had ended already
        try:
            if handler is None:
                return {"id": number, "error": "refused", "detail": "unknown operation"}
            return {"id": number, "event": "done", **handler(message)}
        except (wire.Closed, BrokenPipeError):
            raise
        except PathRefused as error:
            return {"id": number, "error": "refused", "detail": str(error)[:500]}
        except BaseException as error:  # an error is a reply: the supervisor must not die of it
            return {"id": number, "error": "failed", "detail": repr(error)[:500]}

    def _run(self, message: wire.Message) -> Answer:
        order = CommandOrder.read(message)
        self._reopen()
        limits = self._limits
        if limits.processes is not None:
            limits = limits._replace(processes=limits.processes + _count_threads(os.getuid()))
        run = commands.CommandRun(order, self._inbox, self._outbox.send)
        return commands.execute(run, self._kernel, limits, self._reaper)

    def _reopen(self) -> None:
        """Restore the permissions of the work tree, which a command may have removed."""
        with contextlib.suppress(PathRefused):
            os.close(open_root(self._root))

    def _export(self, message: wire.Message) -> Answer:
        return {"edits": self._tree.export(int(message["files"]), int(message["bytes"]))}

    def _read(self, message: wire.Message) -> Answer:
        data = files.read(
            self._root, str(message["path"]), min(int(message["limit"]), wire.MAX_READ)
        )
        return {"data": None if data is None else wire.pack(data)}

    def _write(self, message: wire.Message) -> Answer:
        edits: List[wire.Message] = message["edits"]
        for edit in edits:
            split_path(str(edit["path"]))
        for edit in edits:
            files.write(
                self._root, str(edit["path"]), str(edit["mode"]), wire.unpack(str(edit["data"]))
            )
        return {"written": len(edits)}


def _count_threads(uid: int) -> int:
    """Return the number of a user's threads, which count towards its process limit."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat("/proc/" + name).st_uid == uid:
                count += len(os.listdir("/proc/%s/task" % name))
        except OSError:
            continue
    return count


def main() -> None:
    """Serve the host on the original standard input and output."""
    settings = json.loads(sys.argv[1])
    inbox, outbox = wire.MessageReader(os.dup(0)), wire.MessageWriter(os.dup(1))
    # Commands must not find the connection to the host at the usual numbers.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    GuestSupervisor(settings, inbox, outbox).serve()
    os._exit(0)
