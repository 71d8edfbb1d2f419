"""The checkout as it was, kept in memory: what a candidate changed is noticed and put back."""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import stat
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

MOST_BYTES = 160 << 20
"""Larger trees are remembered as far as this goes, small files first."""
NOT_FOR_CHILDREN = 10
"""MADV_DONTFORK: forked children copy no pages of it."""


class Entry(NamedTuple):
    """One file, folder or link as it was."""

    mode: int
    size: int
    time: int
    number: int
    start: int
    """Where its bytes are kept; -1 when they are not."""
    link: str


class TreeMemory:
    """Remembers a folder.

    Args:
        root: Absolute path.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._entries: Dict[str, Entry] = {}
        found = {path: _stat(path) for path in _walk(root)}
        files = sorted((s.st_size, p) for p, s in found.items() if s and stat.S_ISREG(s.st_mode))
        total, kept = 0, []
        for size, path in files:
            if total + size > MOST_BYTES:
                break
            kept.append(path)
            total += size
        self._data = mmap.mmap(-1, max(1, total))
        with contextlib.suppress(AttributeError, OSError):
            self._data.madvise(NOT_FOR_CHILDREN)
        starts: Dict[str, int] = {}
        at = 0
        for path in kept:
            data = _read(path)
            if data is not None and at + len(data) <= total:
                starts[path] = at
                self._data[at : at + len(data)] = data
                at += len(data)
        for path, status in found.items():
            if status:
                self._entries[path] = _entry(path, status, starts.get(path, -1))

    def changed(self) -> List[str]:
        """Paths that are not as they were, new ones included."""
        now = {path: _stat(path) for path in _walk(self._root)}
        different = [p for p, s in now.items() if p not in self._entries or not s or not _alike(p, s, self._entries[p])]
        return sorted([*different, *(path for path in self._entries if path not in now)])

    def restore(self) -> List[str]:
        """Put everything back; returns what was not as it was, relative to the folder."""
        changed = self.changed()
        for path in sorted(changed, key=lambda p: (p in self._entries, p)):
            if path not in self._entries:
                _remove(path)
        for path in changed:
            if path in self._entries:
                self._put_back(path, self._entries[path])
        return [os.path.relpath(path, self._root) for path in changed]

    def _put_back(self, path: str, entry: Entry) -> None:
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(entry.mode):
                if os.path.islink(path) or not os.path.isdir(path):
                    _remove(path)
                    os.makedirs(path)
                os.chmod(path, stat.S_IMODE(entry.mode))
                return
            _remove(path)
            if stat.S_ISLNK(entry.mode):
                os.symlink(entry.link, path)
            elif entry.start >= 0:
                with open(path, "wb") as file:
                    file.write(self._data[entry.start : entry.start + entry.size])
                os.chmod(path, stat.S_IMODE(entry.mode))
                os.utime(path, ns=(entry.time, entry.time))
            status = _stat(path)
            if status:
                self._entries[path] = _entry(path, status, entry.start)


def _entry(path: str, status: os.stat_result, start: int) -> Entry:
    link = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
    return Entry(status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino, start, link)


def _alike(path: str, status: os.stat_result, entry: Entry) -> bool:
    if status.st_mode != entry.mode:
        return False
    if stat.S_ISDIR(entry.mode):
        return True
    return (status.st_size, status.st_mtime_ns, status.st_ino) == (entry.size, entry.time, entry.number)


def _walk(root: str) -> Iterator[str]:
    """Everything below, folders before what is in them; what a folder hides by its mode is opened first."""
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda e: e.name)
        except PermissionError:
            with contextlib.suppress(OSError):
                os.chmod(folder, 0o755)
            continue
        except OSError:
            continue
        for entry in entries:
            yield entry.path
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def _stat(path: str) -> Optional[os.stat_result]:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _read(path: str) -> Optional[bytes]:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


def write_files(root: str, files: Dict[str, bytes]) -> Tuple[str, ...]:
    """Put whole files in their places below a folder; returns those that could not be written."""
    failed = []
    for path, data in files.items():
        place = os.path.join(root, path)
        try:
            with open(place, "r+b" if os.path.exists(place) else "wb") as file:
                file.write(data)
                file.truncate()
        except OSError:
            failed.append(path)
    return tuple(failed)
