"""The fork server, a warm process from which trials are forked.

It has imported the project's dependencies, but not the project itself.
"""

from __future__ import annotations

import gc
import select
import time
from typing import Any, Callable, Dict, NamedTuple

from sandbox.guest.search.lanes.fresh_child import make_work
from sandbox.guest.search.process.forked import Child, usual_bounds
from sandbox.guest.search.process.guard import Guard
from sandbox.guest.search.process.link import PipeLink
from sandbox.guest.search.session.collected import SuiteCommand
from sandbox.guest.search.session.collecting import prepare_process


class RunningTrial(NamedTuple):
    """A running trial."""

    child: Child
    deadline: float


class ForkServer:
    """Forks trials on request.

    Args:
        link: Receives the orders.
        command: The test command.
        describe: Converts an exception to its report.
    """

    def __init__(
        self, link: PipeLink, command: SuiteCommand, describe: Callable[[BaseException], Any]
    ) -> None:
        self._link = link
        self._command = command
        self._guards = {
            guarded: Guard(command.root, guards_tree=guarded) for guarded in (True, False)
        }
        self._describe = describe
        self._running: Dict[int, RunningTrial] = {}

    def serve(self) -> None:
        """Serve orders until the link closes."""
        prepare_process(self._command)
        gc.collect()
        # Forked trials then copy fewer pages.
        gc.freeze()
        while not self._link.closed:
            while self._link.waiting or self._ready():
                message = self._link.next(0)
                if message is None:
                    break
                self._handle_order(message)
        for running in self._running.values():
            running.child.end()

    def _ready(self) -> bool:
        """Wait for an order, a report or a deadline; return True if an order arrived."""
        now = time.monotonic()
        wait = min((r.deadline - now for r in self._running.values()), default=60.0)
        children = {running.child.fileno(): number for number, running in self._running.items()}
        ready = select.select([self._link.fileno(), *children], [], [], max(0.0, wait))[0]
        for descriptor in ready:
            if descriptor in children:
                self._receive(children[descriptor])
        self._end_late()
        return self._link.fileno() in ready

    def _end_late(self) -> None:
        for number, running in list(self._running.items()):
            if time.monotonic() > running.deadline:
                self._end(number, {"outcome": "timeout", "fixed": []})

    def _handle_order(self, message: Dict[str, Any]) -> None:
        number = int(message["id"])
        if message.get("end"):
            if number in self._running:
                self._running.pop(number).child.end()
            return
        guard = self._guards[bool(message.get("guards_tree", True))]
        bounds = usual_bounds(int(message["memory_bytes"]))._replace(guard=guard)
        child = Child(make_work(self._command, message, self._describe), bounds, self._end_late)
        self._running[number] = RunningTrial(child, time.monotonic() + float(message["wall_s"]))

    def _receive(self, number: int) -> None:
        running = self._running[number]
        alive, report = running.child.hear(0.05)
        if report is not None:
            self._end(
                number, report if isinstance(report, dict) else {"outcome": "died", "fixed": []}
            )
        elif not alive:
            self._end(number, {"outcome": "died", "fixed": []})

    def _end(self, number: int, answer: Dict[str, Any]) -> None:
        self._running.pop(number).child.end()
        self._link.send({"id": number, "answer": answer})
