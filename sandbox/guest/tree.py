"""List, save and compare the work tree without following symbolic links.

No other process runs meanwhile (the supervisor kills everything first), so that there are no races.
"""

import os
import stat
from typing import Dict, Iterator, List, NamedTuple, Tuple

from sandbox.guest import wire
from sandbox.guest.inside import (
    PathRefused,
    open_file,
    open_folder,
    open_root,
    read_all,
    read_status,
)

try:
    # Without hashlib, which would load a whole cipher library (4 MB) into PID 1.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

SKIPPED = frozenset(
    {".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
)
"""Folders that are never listed, compared or exported."""

MAX_ENTRIES = 120_000
MAX_DEPTH = 60
HASHED_BYTES = 1 << 20
"""Larger files are compared by identity instead of content, and are never exported."""

RACY_NS = 50_000_000
"""A file changed this shortly before the snapshot may change again without a visible effect on its
times.
"""


class _Entry(NamedTuple):
    folder: int
    name: str
    path: str
    status: os.stat_result


class _Known(NamedTuple):
    """The state of a file at the snapshot."""

    identity: Tuple[int, int, int, int]
    digest: str
    executable: bool


def _identity(status: os.stat_result) -> Tuple[int, int, int, int]:
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _is_encodable(name: str) -> bool:
    """Return True if a name can be part of a message (it is UTF-8)."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class WorkTree:
    """The work tree.

    Args:
        root: Its folder.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: Dict[str, _Known] = {}

    def _children(self, folder: int, below: str) -> List[_Entry]:
        found = []
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            if _is_encodable(name):
                try:
                    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                except OSError:
                    continue
                found.append(_Entry(folder, name, below + name, status))
        return found

    def _walk(self) -> Iterator[_Entry]:
        """Yield every regular file with one link, limited in number and depth.

        An entry is valid until the next one.
        """
        todo = [(open_root(self._root), "", 0)]
        seen = 0
        try:
            while todo:
                folder, below, depth = todo.pop()
                try:
                    for entry in self._children(folder, below):
                        seen += 1
                        if seen > MAX_ENTRIES:
                            return
                        mode = entry.status.st_mode
                        if stat.S_ISREG(mode) and entry.status.st_nlink == 1:
                            yield entry
                        elif stat.S_ISDIR(mode) and entry.name not in SKIPPED and depth < MAX_DEPTH:
                            todo.extend(self._descend(entry, depth))
                finally:
                    os.close(folder)
        finally:
            for folder, _, _ in todo:
                os.close(folder)

    def _descend(self, entry: _Entry, depth: int) -> List[Tuple[int, str, int]]:
        try:
            return [(open_folder(entry.name, entry.folder), entry.path + "/", depth + 1)]
        except OSError:
            return []

    def _look(self, entry: _Entry) -> _Known:
        executable = bool(entry.status.st_mode & stat.S_IXUSR)
        identity = _identity(entry.status)
        if entry.status.st_size > HASHED_BYTES:
            return _Known(identity, "", executable)
        data = read_all(open_file(entry.name, entry.folder), HASHED_BYTES + 1)
        return _Known(identity, blake2b(data, digest_size=16).hexdigest(), executable)

    def files(self, limit: int) -> List[str]:
        """Return the sorted paths of regular files, at most `limit`."""
        found = []
        for entry in self._walk():
            found.append(entry.path)
            if len(found) >= limit:
                break
        return sorted(found)

    def snap(self) -> int:
        """Save the current state, and return the number of files."""
        self._known = {}
        started = _now(self._root)
        for entry in self._walk():
            try:
                known = self._look(entry)
            except OSError:
                continue
            # The times of such a file are unreliable: compare its content later.
            if entry.status.st_ctime_ns > started - RACY_NS:
                known = known._replace(identity=(0, 0, 0, 0))
            self._known[entry.path] = known
        return len(self._known)

    def _changed(self, entry: _Entry) -> bool:
        known = self._known.get(entry.path)
        if known is None:
            return entry.status.st_size <= HASHED_BYTES
        if known.identity == _identity(entry.status):
            return False
        now = self._look(entry)
        if (now.digest, now.executable) == (known.digest, known.executable) and now.digest:
            return False
        if entry.status.st_size > HASHED_BYTES:
            raise PathRefused("%r is larger than %d bytes" % (entry.path[:200], HASHED_BYTES))
        return True

    def export(self, files: int, size: int) -> List[wire.Message]:
        """Return the changes since the snapshot.

        Args:
            files: Limit of changed files.
            size: Limit of their total bytes.

        Raises:
            Refused: A limit is exceeded, or a known file is not a regular file any more.
        """
        found: List[wire.Message] = []
        seen = set()
        total = 0
        for entry in self._walk():
            seen.add(entry.path)
            try:
                if not self._changed(entry):
                    continue
                data = read_all(open_file(entry.name, entry.folder), HASHED_BYTES + 1)
            except OSError:
                continue
            total += len(data)
            mode = "100755" if entry.status.st_mode & stat.S_IXUSR else "100644"
            found.append({"path": entry.path, "mode": mode, "data": wire.pack(data)})
            if len(found) > files or total > size:
                raise PathRefused("more than %d files or %d bytes changed" % (files, size))
        found += self._deleted(seen)
        if len(found) > files:
            raise PathRefused("more than %d files changed" % files)
        return sorted(found, key=lambda edit: str(edit["path"]))

    def _deleted(self, seen: "set[str]") -> List[wire.Message]:
        gone: List[wire.Message] = []
        for path in sorted(set(self._known) - seen):
            if read_status(self._root, path) is not None:
                raise PathRefused("%r is no longer a plain file" % path[:200])
            gone.append({"path": path, "mode": "deleted", "data": ""})
        return gone


def _now(folder: str) -> int:
    """Return the file system's current time in nanoseconds."""
    path = os.path.join(os.path.dirname(folder), ".metaagent-now")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        now = os.stat(path, follow_symlinks=False).st_mtime_ns
        os.unlink(path)
    except OSError:
        return 0
    return now
