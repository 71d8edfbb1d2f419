"""The oldest process of a search: keeps the checkout in memory, starts the others, and has the last word."""

from __future__ import annotations

import base64
import contextlib
import ctypes
import os
import select
import signal
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from sandbox.guest.reaper import below, processes
from sandbox.guest.search.candidates.sources import Kit
from sandbox.guest.search.context.ground import Request
from sandbox.guest.search.fork_server import Zygote
from sandbox.guest.search.process.limits import fork
from sandbox.guest.search.process.link import Link, pair
from sandbox.guest.search.process.tree_memory import TreeMemory
from sandbox.guest.search.process.warm import preload
from sandbox.guest.search.session.collected import Command
from sandbox.guest.search.session.failing import told
from sandbox.guest.search.session_host import Host, Links, mute

RESULTS = 3
LATE_S = 0.8
"""How long after its time limit a search may still tell its end."""
ATTEMPTS = 4
"""How often a zygote is started anew without a package that cannot be preloaded."""
ORPHAN_S = 2.0
"""How long a process may live whose parents have gone."""
BECOME_SUBREAPER = 36


class Raising(NamedTuple):
    """A zygote under way."""

    pid: int
    link: Link
    """Where it says whether its modules could be preloaded."""


class Keeper:
    """Runs one search.

    Args:
        command: What runs the tests.
        request: What to do.
        emit: Tells the host one event.
        forget: Leaves the names of our modules to the repository.
        started: When the clock of the time limit started.
    """

    def __init__(
        self,
        command: Command,
        request: Request,
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
        self._kit = Kit.load()
        self._tree = TreeMemory(command.root)
        self._links: Dict[str, Link] = {}
        self._host = 0
        self._zygote: Optional[Raising] = None
        self._modules: List[str] = []
        self._unfit: List[str] = []
        self._orphans: Dict[int, float] = {}

    def run(self) -> Dict[str, Any]:
        """Until the host of the tests is through; the reason and detail of the end."""
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)
        mute()
        self._links["host"], host_end = pair()
        host_zygote, self._links["zygote"] = pair()
        self._host = fork()
        if self._host == 0:
            self._be_host(Links(host_end, host_zygote))
        for link in (host_end, host_zygote):
            link.close()
        try:
            return self._serve()
        finally:
            self._end_all()
            self._tree.restore()

    def _be_host(self, links: Links) -> None:
        for link in self._links.values():
            link.close()
        try:
            self._forget()
            Host(self._command, self._request, self._kit, emit=self._emit, links=links, started=self._started).run()
        finally:
            os._exit(0)

    # --- until the end -------------------------------------------------------------------------------

    def _serve(self) -> Dict[str, Any]:
        deadline = self._started + self._request.time_limit_s + LATE_S
        while time.monotonic() < deadline:
            host = self._links["host"]
            waiting = [host, *([self._zygote.link] if self._zygote else [])]
            wait = 0.0 if host.waiting else min(1.0, max(0.0, deadline - time.monotonic()))
            ready = select.select(waiting, [], [], wait)[0]
            self._sweep()
            if self._zygote is not None and self._zygote.link in ready:
                self._hear_zygote(self._zygote)
            if not host.waiting and host not in ready:
                continue
            message = host.next(1.0)
            if message is None and host.closed:
                return {"reason": "refused", "detail": "the search was ended by what it ran"}
            done = self._take(message or {})
            if done is not None:
                return done
        return {"reason": "time", "detail": "the search did not end by itself"}

    def _take(self, message: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        if "done" in message:
            done = message["done"]
            return done if isinstance(done, dict) else {}
        if message.get("restore"):
            self._links["host"].send({"changed": self._tree.restore()})
        elif "write" in message:
            files = {str(path): base64.b64decode(data) for path, data in dict(message["write"]).items()}
            self._links["host"].send({"written": self._tree.write(files)})
        elif "modules" in message:
            self._modules = [name for name in message["modules"] if isinstance(name, str)]
            self._end_zygote()
            self._raise_zygote()
            self._links["host"].send({"raised": True})
        return None

    def _hear_zygote(self, zygote: Raising) -> None:
        message = zygote.link.next(0.5)
        unfit = (message or {}).get("unfit")
        if message is None or unfit is not None:
            self._end_zygote()
            if len(self._unfit) < ATTEMPTS:
                self._unfit.append(str(unfit or ""))
                self._raise_zygote()

    def _end_zygote(self) -> None:
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            zygote.link.close()
            with contextlib.suppress(OSError):
                os.kill(zygote.pid, signal.SIGKILL)
                os.waitpid(zygote.pid, 0)

    def _raise_zygote(self) -> None:
        """Fork the process that trials are forked from, with what may be preloaded."""
        spoiled = len(self._unfit) >= ATTEMPTS
        names = [] if spoiled else [n for n in self._modules if n.split(".")[0] not in self._unfit]
        ours, theirs = pair()
        pid = fork()
        if pid == 0:
            self._be_zygote(names, theirs)
        theirs.close()
        self._zygote = Raising(pid, ours)

    def _be_zygote(self, names: List[str], link: Link) -> None:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, RESULTS)
            os.close(null)
            self._links["host"].close()
            self._forget()
            unfit = preload(names, self._command.root)
            link.send({"unfit": unfit})
            if unfit is None:
                Zygote(self._links["zygote"], self._command, told(self._command.root)).serve()
        finally:
            os._exit(0)

    # --- what is left behind -------------------------------------------------------------------------

    def _sweep(self) -> None:
        """Collect the dead, and end those whose parents have gone and who do not go by themselves."""
        with contextlib.suppress(OSError):
            while True:
                pid, _ = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
        own = {self._host, self._zygote.pid if self._zygote else 0}
        now = time.monotonic()
        found = {pid for pid in _children() if pid not in own}
        self._orphans = {pid: self._orphans.get(pid, now) for pid in found}
        for pid, since in self._orphans.items():
            if now - since > ORPHAN_S:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)

    def _end_all(self) -> None:
        """Nobody below us lives on."""
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            victims = below(os.getpid(), processes())
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
    """Our own children, where the kernel tells."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except (OSError, ValueError):
        return []
