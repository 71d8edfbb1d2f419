"""Kill and reap every process except the supervisor."""

import os
import signal
import time
from typing import Dict, List, Optional


class Reaper:
    """Kills and reaps all other processes.

    Args:
        alone: Whether this process is PID 1 of its own namespace; otherwise only descendants are
            affected.
    """

    def __init__(self, *, alone: bool) -> None:
        self._alone = alone

    def collect(self, main: int = 0) -> Optional[int]:
        """Reap ended processes. Return the wait status of `main` if it was one of them."""
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
        """Return the other processes."""
        parents = processes()
        me = os.getpid()
        return [pid for pid in parents if pid != me] if self._alone else descendants(me, parents)

    def _kill_once(self) -> bool:
        """Kill once. Return True if there was a process."""
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
        """Kill until no process is left.

        It needs no fork, so that an exhausted process limit does not matter.
        """
        end = time.monotonic() + within
        pause = 0.0
        while self._kill_once() and time.monotonic() < end:
            self.collect()
            time.sleep(pause)
            pause = min(pause + 0.0005, 0.01)
        self.collect()


def processes(proc: str = "/proc") -> Dict[int, int]:
    """Return all visible processes with their parents.

    Args:
        proc: The mount point of the process file system.
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


def descendants(pid: int, parents: Dict[int, int]) -> List[int]:
    """Return the descendants of a process.

    Args:
        pid: The ancestor.
        parents: The result of `processes`.
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
