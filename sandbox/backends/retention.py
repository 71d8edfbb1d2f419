"""What is kept for the next time and what gives way: by age, then by size, those used least recently first.

What serves a single tree is of no use after the next push: it is kept for a shorter time, and gives way first.
"""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from sandbox.types import Frozen

DAY_S = 86_400.0

ONE_TREE_DAYS = 2.0
"""Longest time that what serves one tree is kept without use, in days: a person may ask once more on the next day."""


class Limits(Frozen):
    """How much may be kept, and how long."""

    size: int
    days: float
    busy_s: float = 600.0
    """Used this recently, somebody may be about to open it."""


class Entry(Frozen):
    """One thing that is kept."""

    name: str
    size: int = 0
    idle_s: float = 0.0
    """How long ago it was last used."""
    protected: bool = False
    """In use, or the one that is used from now on."""
    counted: bool = True
    """Whether it takes room from the limit of size; otherwise only its age counts."""
    days: float | None = None
    """How long it is kept, when that is not what the limits say."""
    one_tree: bool = False
    """Only one tree of one repository can use it."""


def doomed(entries: Iterable[Entry], limits: Limits) -> tuple[Entry, ...]:
    """Return what has to go: the too old, and then until the rest has room.

    For room those of one tree go first, so that nobody's commits can push out what everybody uses; among equals those
    used least recently.
    """
    known = tuple(entries)
    free = [entry for entry in known if not entry.protected and entry.idle_s >= limits.busy_s]
    old = [entry for entry in free if entry.idle_s > _days(entry, limits) * DAY_S]
    size = sum(entry.size for entry in known if entry.counted and entry not in old)
    for entry in sorted(free, key=lambda one: (not one.one_tree, -one.idle_s)):
        if size > limits.size and entry.counted and entry not in old:
            old.append(entry)
            size -= entry.size
    return tuple(old)


def _days(entry: Entry, limits: Limits) -> float:
    if entry.days is not None:
        return entry.days
    return min(limits.days, ONE_TREE_DAYS) if entry.one_tree else limits.days


class LastUses:
    """When things were last used, as the times of empty files.

    Args:
        folder: Where the files are; nothing else may be in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, name: str) -> Path:
        return self._folder / hashlib.sha256(name.encode()).hexdigest()

    def touch(self, *names: str) -> None:
        """They are used now."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in names:
            path = self._file(name)
            path.touch(mode=0o600)
            os.utime(path)

    def now(self) -> float:
        """The present moment, as the folder's file system sees it."""
        self.touch("")
        return self._file("").stat().st_mtime

    def last(self, name: str) -> float | None:
        """When it was last used; None when that is not known."""
        try:
            return self._file(name).stat().st_mtime
        except OSError:
            return None

    def forget(self, name: str) -> None:
        """It is gone."""
        self._file(name).unlink(missing_ok=True)
