"""A warm process that has imported what the project needs and nothing of the project: trials are forked from it."""

from __future__ import annotations

import gc
import select
import time
from typing import Any, Callable, Dict, NamedTuple

from sandbox.guest.search.lanes.fresh_child import work_of
from sandbox.guest.search.process.forked import Child, usual_bounds
from sandbox.guest.search.process.guard import Guard
from sandbox.guest.search.process.link import Link
from sandbox.guest.search.session.collected import Command
from sandbox.guest.search.session.collecting import enter


class Running(NamedTuple):
    """A trial under way."""

    child: Child
    deadline: float


class Zygote:
    """Forks trials as it is asked to.

    Args:
        link: Where it is asked.
        command: What runs the tests.
        told: Turns an exception into what is told of it.
    """

    def __init__(self, link: Link, command: Command, told: Callable[[BaseException], Any]) -> None:
        self._link = link
        self._command = command
        self._guards = {guarded: Guard(command.root, guards_tree=guarded) for guarded in (True, False)}
        self._told = told
        self._running: Dict[int, Running] = {}

    def serve(self) -> None:
        """Until nobody asks any more."""
        enter(self._command)
        gc.collect()
        gc.freeze()
        while not self._link.closed:
            while self._link.waiting or self._ready():
                message = self._link.next(0)
                if message is None:
                    break
                self._take(message)
        for running in self._running.values():
            running.child.end()

    def _ready(self) -> bool:
        """Wait for an order, a report or a deadline; whether it is an order."""
        now = time.monotonic()
        wait = min((r.deadline - now for r in self._running.values()), default=60.0)
        children = {running.child.fileno(): number for number, running in self._running.items()}
        ready = select.select([self._link.fileno(), *children], [], [], max(0.0, wait))[0]
        for descriptor in ready:
            if descriptor in children:
                self._heard(children[descriptor])
        self._end_late()
        return self._link.fileno() in ready

    def _end_late(self) -> None:
        for number, running in list(self._running.items()):
            if time.monotonic() > running.deadline:
                self._end(number, {"outcome": "timeout", "fixed": []})

    def _take(self, message: Dict[str, Any]) -> None:
        number = int(message["id"])
        if message.get("end"):
            if number in self._running:
                self._running.pop(number).child.end()
            return
        guard = self._guards[bool(message.get("guards_tree", True))]
        bounds = usual_bounds(int(message["memory_bytes"]))._replace(guard=guard)
        child = Child(work_of(self._command, message, self._told), bounds, self._end_late)
        self._running[number] = Running(child, time.monotonic() + float(message["wall_s"]))

    def _heard(self, number: int) -> None:
        running = self._running[number]
        alive, report = running.child.hear(0.05)
        if report is not None:
            self._end(number, report if isinstance(report, dict) else {"outcome": "died", "fixed": []})
        elif not alive:
            self._end(number, {"outcome": "died", "fixed": []})

    def _end(self, number: int, answer: Dict[str, Any]) -> None:
        self._running.pop(number).child.end()
        self._link.send({"id": number, "answer": answer})
