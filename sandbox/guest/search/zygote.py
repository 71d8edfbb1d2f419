"""A warm process that has imported what the project needs and nothing of the project: trials are forked from it."""

from __future__ import annotations

import gc
import importlib
import os
import select
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from sandbox.guest.search.collected import Command
from sandbox.guest.search.collecting import enter
from sandbox.guest.search.forked import Child, usual_bounds
from sandbox.guest.search.guard import Guard
from sandbox.guest.search.lanes.fresh_child import work_of
from sandbox.guest.search.link import Link
from sandbox.guest.search.threads import own_threads


class Running(NamedTuple):
    """A trial under way."""

    child: Child
    deadline: float


def modules_beside(root: str) -> List[str]:
    """Modules of this process that are not of the checkout, in the order of their import."""
    return [name for name, module in list(sys.modules.items()) if not _is_of(root, module) and name != "__main__"]


def _is_of(root: str, module: Any) -> bool:
    """Whether a module comes from the checkout; what cannot be told is taken to."""
    try:
        places = [str(module.__file__)] if getattr(module, "__file__", None) else [str(p) for p in module.__path__]
    except (AttributeError, TypeError):
        return getattr(module, "__spec__", None) is None
    inside = [p for p in map(os.path.realpath, places) if p == root or p.startswith(root + os.sep)]
    return any("site-packages" not in place for place in inside)


def preload(names: Sequence[str], root: str) -> Optional[str]:
    """Import all of these; the first one that starts a thread or brings in the checkout ends it.

    Returns:
        The top-level package that must not be preloaded, or None when all went well.
    """
    for name in names:
        if name in sys.modules:
            continue
        try:
            importlib.import_module(name)
        except BaseException:
            continue
        if own_threads() > 1:
            return name.split(".")[0]
    return next(
        (name for name, module in list(sys.modules.items()) if _is_of(root, module) and _has_file(module)), None
    )


def _has_file(module: Any) -> bool:
    return getattr(module, "__file__", None) is not None


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
        for number, running in list(self._running.items()):
            if time.monotonic() > running.deadline:
                self._end(number, {"outcome": "timeout", "fixed": []})
        return self._link.fileno() in ready

    def _take(self, message: Dict[str, Any]) -> None:
        number = int(message["id"])
        if message.get("end"):
            if number in self._running:
                self._running.pop(number).child.end()
            return
        guard = self._guards[bool(message.get("guards_tree", True))]
        bounds = usual_bounds(int(message["memory_bytes"]))._replace(guard=guard)
        child = Child(work_of(self._command, message, self._told), bounds)
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
