"""The checkout as it was, kept in memory: what a candidate changed is noticed and put back.

What is not kept, such as files too large for it, is never removed: moved away it is moved back, and changed it stays.
"""

from __future__ import annotations

import base64
import contextlib
import json
import mmap
import os
import shutil
import stat
import tempfile
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

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
        most_bytes: How much of its files is kept.
    """

    def __init__(self, root: str, most_bytes: int = MOST_BYTES) -> None:
        self._root = root
        self._entries: Dict[str, Entry] = {}
        found = {path: _stat(path) for path in _walk(root)}
        files = sorted((s.st_size, p) for p, s in found.items() if s and stat.S_ISREG(s.st_mode))
        total, kept = 0, []
        for size, path in files:
            if total + size > most_bytes:
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
        different = [p for p, s in now.items() if p not in self._entries or not s or not _alike(s, self._entries[p])]
        return sorted([*different, *(path for path in self._entries if path not in now)])

    def restore(self) -> List[str]:
        """Put everything back; returns what was not as it was, relative to the folder."""
        changed = self.changed()
        self._move_back(changed)
        for path in sorted(changed, key=lambda p: (p in self._entries, p)):
            if path not in self._entries:
                _remove(path)
        for path in changed:
            if path in self._entries:
                self._put_back(path, self._entries[path])
        _remove(journal())
        return [os.path.relpath(path, self._root) for path in changed]

    def _move_back(self, changed: Sequence[str]) -> None:
        """Put files that are not kept where they were, before what holds them now is removed."""
        away: Dict[int, str] = {}
        for path in changed:
            entry = self._entries.get(path)
            if entry is not None and stat.S_ISREG(entry.mode) and entry.start < 0:
                away[entry.number] = path
        for path in changed if away else ():
            status = _stat(path) if path not in self._entries else None
            place = away.get(status.st_ino) if status else None
            if status and place and _alike(status, self._entries[place]):
                with contextlib.suppress(OSError):
                    os.makedirs(os.path.dirname(place), exist_ok=True)
                    if os.path.isdir(place):
                        _remove(place)
                    os.replace(path, place)

    def write(self, files: Mapping[str, bytes]) -> bool:
        """Put whole files in the places of known ones; whether all could be written."""
        places = {os.path.join(self._root, path): data for path, data in files.items()}
        if not all(place in self._entries and self._entries[place].start >= 0 for place in places):
            return False
        try:
            with open(journal(), "w", encoding="ascii") as file:
                json.dump({place: base64.b64encode(self._kept(place)).decode("ascii") for place in places}, file)
            for place, data in places.items():
                with open(place, "wb") as target:
                    target.write(data)
        except OSError:
            return False
        return True

    def _kept(self, path: str) -> bytes:
        entry = self._entries[path]
        return bytes(self._data[entry.start : entry.start + entry.size])

    def _put_back(self, path: str, entry: Entry) -> None:
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(entry.mode):
                if os.path.islink(path) or not os.path.isdir(path):
                    _remove(path)
                    os.makedirs(path)
                os.chmod(path, stat.S_IMODE(entry.mode))
                return
            if stat.S_ISLNK(entry.mode):
                _remove(path)
                os.symlink(entry.link, path)
            elif entry.start >= 0:
                self._rewrite(path, entry)
            else:
                self._leave(path, entry)
                return
            status = _stat(path)
            if status:
                self._entries[path] = _entry(path, status, entry.start)

    def _rewrite(self, path: str, entry: Entry) -> None:
        """Write a file anew beside its place: what stands there goes when nothing can fail any more."""
        beside = ""
        try:
            number, beside = tempfile.mkstemp(dir=os.path.dirname(path))
            os.close(number)
            _write(beside, self._kept(path), entry)
            if not _is_file(path):
                _remove(path)
            os.replace(beside, path)
        except OSError:
            if beside:
                _remove(beside)
            if not _is_file(path):
                raise
            _write(path, self._kept(path), entry)  # its folder takes no new files

    def _leave(self, path: str, entry: Entry) -> None:
        """What cannot be written again counts from now on as it is."""
        status = _stat(path)
        if status is None and stat.S_ISFIFO(entry.mode):
            os.mkfifo(path, stat.S_IMODE(entry.mode))
        elif status is None:
            del self._entries[path]
            return
        elif stat.S_IFMT(status.st_mode) == stat.S_IFMT(entry.mode):
            os.chmod(path, stat.S_IMODE(entry.mode))
        status = _stat(path)
        if status:
            self._entries[path] = _entry(path, status, -1)


def _entry(path: str, status: os.stat_result, start: int) -> Entry:
    link = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
    return Entry(status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino, start, link)


def _alike(status: os.stat_result, entry: Entry) -> bool:
    if status.st_mode != entry.mode:
        return False
    if stat.S_ISDIR(entry.mode):
        return True
    if not stat.S_ISREG(entry.mode) and not stat.S_ISLNK(entry.mode):
        return status.st_ino == entry.number  # what went through a pipe is no part of the checkout
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


def _is_file(path: str) -> bool:
    status = _stat(path)
    return status is not None and stat.S_ISREG(status.st_mode)


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


def _write(path: str, data: bytes, entry: Entry) -> None:
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, stat.S_IMODE(entry.mode))
    os.utime(path, ns=(entry.time, entry.time))


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


def journal() -> str:
    """Where it is written down what has to be put back, should nobody be left who remembers."""
    return os.path.join(tempfile.gettempdir(), ".metaagent-search.json")


def put_back() -> None:
    """Put back what an interrupted search left changed."""
    try:
        with open(journal(), encoding="ascii") as file:
            told = json.load(file)
        for path, data in told.items():
            with open(path, "wb") as target:
                target.write(base64.b64decode(data))
    except (OSError, ValueError, TypeError, AttributeError):
        return
    _remove(journal())
