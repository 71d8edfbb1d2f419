"""Keep the checkout in memory, so that a candidate's changes are found and reverted.

Files that do not fit are never removed. They are moved back if they were moved, but changes to them
stay.
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
"""Maximum number of bytes to remember; small files first."""
NOT_FOR_CHILDREN = 10
"""MADV_DONTFORK: forked children do not get these pages."""


class PathState(NamedTuple):
    """The remembered state of a file, folder or link."""

    mode: int
    size: int
    time: int
    number: int
    start: int
    """Offset of its content in memory; -1 if it is not stored."""
    link: str


class TreeMemory:
    """Remembers the state of a folder.

    Args:
        root: Absolute path.
        most_bytes: Maximum size of the stored contents.
    """

    def __init__(self, root: str, most_bytes: int = MOST_BYTES) -> None:
        self._root = root
        self._entries: Dict[str, PathState] = {}
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
        """Return the paths that differ from the remembered state, including new ones."""
        now = {path: _stat(path) for path in _walk(self._root)}
        different = [
            p
            for p, s in now.items()
            if p not in self._entries or not s or not _alike(s, self._entries[p])
        ]
        return sorted([*different, *(path for path in self._entries if path not in now)])

    def restore(self) -> List[str]:
        """Restore all files; return the paths that differed, relative to the folder."""
        changed = self.changed()
        self._move_back(changed)
        # New paths go first: one may be in the place of a known path.
        for path in sorted(changed, key=lambda p: (p in self._entries, p)):
            if path not in self._entries:
                _remove(path)
        for path in changed:
            if path in self._entries:
                self._restore_path(path, self._entries[path])
        _remove(journal())
        return [os.path.relpath(path, self._root) for path in changed]

    def _move_back(self, changed: Sequence[str]) -> None:
        """Move files without stored content back before anything that contains them is removed."""
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
        """Overwrite known files with new content; return True if all were written."""
        places = {os.path.join(self._root, path): data for path, data in files.items()}
        if not all(place in self._entries and self._entries[place].start >= 0 for place in places):
            return False
        try:
            # The journal is complete before any file changes.
            with open(journal(), "w", encoding="ascii") as file:
                json.dump(
                    {
                        place: base64.b64encode(self._stored(place)).decode("ascii")
                        for place in places
                    },
                    file,
                )
            for place, data in places.items():
                with open(place, "wb") as target:
                    target.write(data)
        except OSError:
            return False
        return True

    def _stored(self, path: str) -> bytes:
        entry = self._entries[path]
        return bytes(self._data[entry.start : entry.start + entry.size])

    def _restore_path(self, path: str, entry: PathState) -> None:
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
                self._accept(path, entry)
                return
            status = _stat(path)
            if status:
                self._entries[path] = _entry(path, status, entry.start)

    def _rewrite(self, path: str, entry: PathState) -> None:
        """Write a file to a temporary name and rename it, so that a failure keeps what is there."""
        beside = ""
        try:
            number, beside = tempfile.mkstemp(dir=os.path.dirname(path))
            os.close(number)
            _write(beside, self._stored(path), entry)
            if not _is_file(path):
                _remove(path)
            os.replace(beside, path)
        except OSError:
            if beside:
                _remove(beside)
            if not _is_file(path):
                raise
            _write(path, self._stored(path), entry)  # its folder accepts no new files

    def _accept(self, path: str, entry: PathState) -> None:
        """Accept the present state of what cannot be rewritten."""
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


def _entry(path: str, status: os.stat_result, start: int) -> PathState:
    link = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
    return PathState(status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino, start, link)


def _alike(status: os.stat_result, entry: PathState) -> bool:
    if status.st_mode != entry.mode:
        return False
    if stat.S_ISDIR(entry.mode):
        return True
    if not stat.S_ISREG(entry.mode) and not stat.S_ISLNK(entry.mode):
        return status.st_ino == entry.number  # the data in a pipe is not part of the checkout
    return (status.st_size, status.st_mtime_ns, status.st_ino) == (
        entry.size,
        entry.time,
        entry.number,
    )


def _walk(root: str) -> Iterator[str]:
    """Yield all paths below a folder, parents first; make unreadable folders readable."""
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


def _write(path: str, data: bytes, entry: PathState) -> None:
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
    """Return the path of the journal.

    It holds the original content of edited files, in case the search dies before it restores them.
    """
    return os.path.join(tempfile.gettempdir(), ".metaagent-search.json")


def restore_from_journal() -> None:
    """Restore the files that an interrupted search left changed."""
    try:
        with open(journal(), encoding="ascii") as file:
            told = json.load(file)
        for path, data in told.items():
            with open(path, "wb") as target:
                target.write(base64.b64decode(data))
    except (OSError, ValueError, TypeError, AttributeError):
        return
    _remove(journal())
