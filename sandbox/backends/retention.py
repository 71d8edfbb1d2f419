"""Retention of cached entries: by age, then by size, least recently used first.

An entry for a single tree is useless after the next push. It is kept for a shorter time and removed
first.
"""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from sandbox.types import Frozen

DAY_S = 86_400.0

ONE_TREE_DAYS = 2.0
"""Days to keep an unused entry for one tree: a person may repeat a request on the next day."""


class RetentionLimits(Frozen):
    """Limits of size and age."""

    size: int
    days: float
    busy_s: float = 600.0
    """Seconds since the last use during which an entry may be about to be opened."""


class CacheEntry(Frozen):
    """One cached entry."""

    name: str
    size: int = 0
    idle_s: float = 0.0
    """Seconds since the last use."""
    protected: bool = False
    """In use, or about to be used."""
    counted: bool = True
    """Set if its size counts; otherwise only its age does."""
    days: float | None = None
    """Days to keep it, if they differ from the limits."""
    one_tree: bool = False
    """Only one tree of one repository can use it."""


def select_for_removal(
    entries: Iterable[CacheEntry], limits: RetentionLimits
) -> tuple[CacheEntry, ...]:
    """Return the entries to remove: those that are too old, then more until the rest fits.

    For space, entries for one tree are removed first, so that frequent commits of one repository
    cannot evict shared entries. Otherwise the least recently used ones go first.
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


def _days(entry: CacheEntry, limits: RetentionLimits) -> float:
    if entry.days is not None:
        return entry.days
    return min(limits.days, ONE_TREE_DAYS) if entry.one_tree else limits.days


class LastUses:
    """Times of last use, stored as the times of empty files.

    Args:
        folder: The folder of the files; it must not contain others.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, name: str) -> Path:
        return self._folder / hashlib.sha256(name.encode()).hexdigest()

    def touch(self, *names: str) -> None:
        """Record a use."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in names:
            path = self._file(name)
            path.touch(mode=0o600)
            os.utime(path)

    def now(self) -> float:
        """Return the current time of the folder's file system."""
        self.touch("")
        return self._file("").stat().st_mtime

    def last(self, name: str) -> float | None:
        """Return the time of the last use; None if it is unknown."""
        try:
            return self._file(name).stat().st_mtime
        except OSError:
            return None

    def forget(self, name: str) -> None:
        """Delete the record of an entry."""
        self._file(name).unlink(missing_ok=True)
