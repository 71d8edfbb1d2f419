"""The kernel's counters for this sandbox, with control groups of version 1 or 2."""

import os
from typing import Dict, Optional

ROOT = "/sys/fs/cgroup"

EVENTS = {
    "oom_kills": (("memory/memory.oom_control", "oom_kill"), ("memory.events", "oom_kill")),
    "pids_hits": (("pids/pids.events", "max"), ("pids.events", "max")),
}
"""Counter to its possible places (version 1, version 2), each a file and the word before the
number.
"""


def _word(path: str, word: str) -> Optional[int]:
    try:
        with open(path, encoding="ascii") as lines:
            for line in lines:
                name, _, number = line.partition(" ")
                if name == word:
                    return int(number)
    except (OSError, ValueError):
        return None
    return None


def read(root: str = ROOT) -> Dict[str, int]:
    """Return the kernel's counters; a missing one is 0.

    Args:
        root: The mount point of the control groups.
    """
    found = {}
    for name, places in EVENTS.items():
        values = [
            value
            for file, word in places
            for value in [_word(os.path.join(root, file), word)]
            if value is not None
        ]
        found[name] = values[0] if values else 0
    return found
