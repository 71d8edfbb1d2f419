"""Ends and collects every process that is not the supervisor."""

import os
import signal
import time
from typing import Dict, List, Optional


class Reaper:
    """Kills and collects everything that is not us.

    Args:
        alone: Whether we are PID 1 of a namespace of our own; otherwise only descendants are touched.
    """

    def __init__(self, *, alone: bool) -> None:
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
        parents = processes()
        me = os.getpid()
        return [pid for pid in parents if pid != me] if self._alone else below(me, parents)

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


def processes(proc: str = "/proc") -> Dict[int, int]:
    """Every process that can be seen, with its parent.

    Args:
        proc: Where the process file system is mounted.
    """
    parents = {}
    for name in os.listdir(proc):
        if name.isdigit():
            try:
                with open(os.path.join(proc, name, "stat"), "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                parents[int(name)] = int(fields[1])
            except (OSError, IndexError, ValueError):
                continue
    return parents


def below(pid: int, parents: Dict[int, int]) -> List[int]:
    """The descendants of a process.

    Args:
        pid: The ancestor.
        parents: What `processes` returned.
    """
    children: Dict[int, List[int]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    found: List[int] = []
    todo = [pid]
    while todo:
        for child in children.get(todo.pop(), ()):
            found.append(child)
            todo.append(child)
    return found
