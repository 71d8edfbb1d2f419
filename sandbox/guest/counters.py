"""What the kernel counted for this sandbox, in either layout of control groups."""

import os
from typing import Dict, List, Optional

ROOT = "/sys/fs/cgroup"

EVENTS = {
    "oom_kills": (("memory/memory.oom_control", "oom_kill"), ("memory.events", "oom_kill")),
    "pids_hits": (("pids/pids.events", "max"), ("pids.events", "max")),
}
"""Counter: the places it may stand in (version 1, version 2), each a file and the word before the number."""


def _word(path: str, word: str) -> Optional[int]:
    try:
        with open(path, encoding="ascii") as lines:
            for line in lines:
                parts = line.split()
                if len(parts) == 2 and parts[0] == word:
                    return int(parts[1])
    except (OSError, ValueError):
        return None
    return None


def read(root: str = ROOT) -> Dict[str, int]:
    """The counters that this kernel has; one that it lacks is 0.

    Args:
        root: Where the control groups are mounted.
    """
    found = {}
    for name, places in EVENTS.items():
        values = [
            value for file, word in places for value in [_word(os.path.join(root, file), word)] if value is not None
        ]
        found[name] = values[0] if values else 0
    return found


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
