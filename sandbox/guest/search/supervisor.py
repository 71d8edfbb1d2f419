"""The root process of a search.

It remembers the checkout, and starts and supervises the other processes.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import os
import select
import signal
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from sandbox.guest.reaper import descendants, processes
from sandbox.guest.search.candidates.sources import SourceModules
from sandbox.guest.search.context.suite_facts import SearchJob
from sandbox.guest.search.fork_server import ForkServer
from sandbox.guest.search.process.limits import fork
from sandbox.guest.search.process.link import PipeLink, connect
from sandbox.guest.search.process.preload import preload
from sandbox.guest.search.process.tree_memory import TreeMemory
from sandbox.guest.search.session.collected import SuiteCommand
from sandbox.guest.search.session.failing import make_describer
from sandbox.guest.search.session_host import Links, SessionHost, silence_streams

RESULTS = 3
LATE_S = 0.8
"""Extra time in which an expired search may still report its end, in seconds."""
ATTEMPTS = 4
"""Maximum number of fork servers started after failed preloads.

Each leaves out one more package.
"""
ORPHAN_S = 2.0
"""Maximum lifetime of a process whose parents have gone, in seconds."""
BECOME_SUBREAPER = 36


class StartedForkServer(NamedTuple):
    """A fork server that was started."""

    pid: int
    link: PipeLink
    """The link on which it reports whether its modules could be preloaded."""


class SearchSupervisor:
    """Runs and supervises one search.

    Args:
        command: The test command.
        request: The search request.
        emit: Writes one event for the host.
        forget: Removes our packages from `sys.modules`.
        started: Start of the time limit, as `time.monotonic()`.
    """

    def __init__(
        self,
        command: SuiteCommand,
        request: SearchJob,
        *,
        emit: Callable[[Dict[str, Any]], None],
        forget: Callable[[], None],
        started: float,
    ) -> None:
        self._command = command
        self._request = request
        self._emit = emit
        self._forget = forget
        self._started = started
        self._kit = SourceModules.load()
        self._tree = TreeMemory(command.root)
        self._links: Dict[str, PipeLink] = {}
        self._host = 0
        self._fork_server: Optional[StartedForkServer] = None
        self._modules: List[str] = []
        self._unfit: List[str] = []
        self._orphans: Dict[int, float] = {}

    def run(self) -> Dict[str, Any]:
        """Wait until the session host has finished; return the reason and detail of the end."""
        # Orphans of killed trials become our children, so that `_sweep` finds them.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)
        silence_streams()
        self._links["host"], host_end = connect()
        host_server, self._links["fork_server"] = connect()
        self._host = fork()
        if self._host == 0:
            self._run_session_host(Links(host_end, host_server))
        for link in (host_end, host_server):
            link.close()
        try:
            return self._serve()
        finally:
            # Kill first: a live process could change the checkout after the restore.
            self._end_all()
            self._tree.restore()

    def _run_session_host(self, links: Links) -> None:
        for link in self._links.values():
            link.close()
        try:
            self._forget()
            SessionHost(
                self._command,
                self._request,
                self._kit,
                emit=self._emit,
                links=links,
                started=self._started,
            ).run()
        finally:
            os._exit(0)

    # --- message loop ----------------------------------------------------------------------------

    def _serve(self) -> Dict[str, Any]:
        deadline = self._started + self._request.time_limit_s + LATE_S
        while time.monotonic() < deadline:
            host = self._links["host"]
            waiting = [host, *([self._fork_server.link] if self._fork_server else [])]
            wait = 0.0 if host.waiting else min(1.0, max(0.0, deadline - time.monotonic()))
            ready = select.select(waiting, [], [], wait)[0]
            self._sweep()
            if self._fork_server is not None and self._fork_server.link in ready:
                self._hear_fork_server(self._fork_server)
            if not host.waiting and host not in ready:
                continue
            message = host.next(1.0)
            if message is None and host.closed:
                return {"reason": "refused", "detail": "a test or candidate killed the search"}
            done = self._handle_message(message or {})
            if done is not None:
                return done
        return {"reason": "time", "detail": "the search exceeded its time limit"}

    def _handle_message(self, message: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        if "done" in message:
            done = message["done"]
            return done if isinstance(done, dict) else {}
        if message.get("restore"):
            self._links["host"].send({"changed": self._tree.restore()})
        elif "write" in message:
            files = {
                str(path): base64.b64decode(data) for path, data in dict(message["write"]).items()
            }
            self._links["host"].send({"written": self._tree.write(files)})
        elif "modules" in message:
            self._modules = [name for name in message["modules"] if isinstance(name, str)]
            self._end_fork_server()
            self._start_fork_server()
            self._links["host"].send({"raised": True})
        return None

    def _hear_fork_server(self, fork_server: StartedForkServer) -> None:
        message = fork_server.link.next(0.5)
        unfit = (message or {}).get("unfit")
        if message is None or unfit is not None:
            self._end_fork_server()
            if len(self._unfit) < ATTEMPTS:
                self._unfit.append(str(unfit or ""))
                self._start_fork_server()

    def _end_fork_server(self) -> None:
        fork_server, self._fork_server = self._fork_server, None
        if fork_server is not None:
            fork_server.link.close()
            with contextlib.suppress(OSError):
                os.kill(fork_server.pid, signal.SIGKILL)
                os.waitpid(fork_server.pid, 0)

    def _start_fork_server(self) -> None:
        """Fork the process that trials are forked from, and preload what can be preloaded there."""
        spoiled = len(self._unfit) >= ATTEMPTS
        names = [] if spoiled else [n for n in self._modules if n.split(".")[0] not in self._unfit]
        ours, theirs = connect()
        pid = fork()
        if pid == 0:
            self._run_fork_server(names, theirs)
        theirs.close()
        self._fork_server = StartedForkServer(pid, ours)

    def _run_fork_server(self, names: List[str], link: PipeLink) -> None:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, RESULTS)
            os.close(null)
            self._links["host"].close()
            self._forget()
            unfit = preload(names, self._command.root)
            link.send({"unfit": unfit})
            if unfit is None:
                ForkServer(
                    self._links["fork_server"], self._command, make_describer(self._command.root)
                ).serve()
        finally:
            os._exit(0)

    # --- cleanup ---------------------------------------------------------------------------------

    def _sweep(self) -> None:
        """Reap dead children and kill orphans that outlive `ORPHAN_S`."""
        with contextlib.suppress(OSError):
            while True:
                pid, _ = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
        own = {self._host, self._fork_server.pid if self._fork_server else 0}
        now = time.monotonic()
        found = {pid for pid in _children() if pid not in own}
        self._orphans = {pid: self._orphans.get(pid, now) for pid in found}
        for pid, since in self._orphans.items():
            if now - since > ORPHAN_S:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)

    def _end_all(self) -> None:
        """Kill all descendants."""
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            victims = descendants(os.getpid(), processes())
            for pid in victims:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if not victims:
                return
            time.sleep(0.002)


def _children() -> List[int]:
    """Return the pids of our children, if the kernel lists them."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except (OSError, ValueError):
        return []
