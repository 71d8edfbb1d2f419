"""Files of the work tree: read, written, listed and compared without ever following a symbolic link.

Nothing else runs meanwhile (the supervisor kills everything first), so there are no races to lose.
"""

import hashlib
import os
import stat
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from sandbox.guest import wire

SKIPPED = frozenset({".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"})
"""Folders that are never listed, compared or handed out."""

MAX_ENTRIES = 120_000
MAX_DEPTH = 60
HASHED_BYTES = 1 << 20
"""Larger files are compared by their identity, not their content, and are never handed out."""

RACY_NS = 50_000_000
"""A file changed this shortly before the snapshot may change again without its times showing it."""

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Refused(Exception):
    """What was asked would leave the work tree, follow a link or break a limit."""


def parts_of(path: str) -> List[str]:
    """The names a relative path is made of.

    Raises:
        Refused: it is empty, absolute, goes up, or holds a NUL.
    """
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise Refused("the path %r does not name a file below the work tree" % path[:200])
    return parts


class _Entry(NamedTuple):
    folder: int
    name: str
    path: str
    status: os.stat_result


class _Known(NamedTuple):
    """How a file looked at the snapshot."""

    identity: Tuple[int, int, int, int]
    digest: str
    executable: bool


def _identity(status: os.stat_result) -> Tuple[int, int, int, int]:
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _open_folder(name: str, parent: Optional[int] = None) -> int:
    """Open a folder, making it readable again when somebody took that away."""
    try:
        return os.open(name, FOLDER, dir_fd=parent)
    except PermissionError:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            raise
        os.chmod(name, 0o700, dir_fd=parent)
        return os.open(name, FOLDER, dir_fd=parent)


def _open_file(entry: _Entry) -> int:
    try:
        return os.open(entry.name, FILE, dir_fd=entry.folder)
    except PermissionError:
        os.chmod(entry.name, 0o600, dir_fd=entry.folder)
        return os.open(entry.name, FILE, dir_fd=entry.folder)


def _read_all(fd: int, limit: int) -> bytes:
    """Read an open file, at most `limit` bytes, and close it."""
    with os.fdopen(fd, "rb", buffering=0) as file:
        pieces = []
        while limit > 0:
            piece = file.read(limit)
            if not piece:
                break
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces)


def _sayable(name: str) -> bool:
    """Whether a name can be told in a message (it is UTF-8)."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class Tree:
    """The work tree.

    Args:
        root: Its folder.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: Dict[str, _Known] = {}

    def _enter(self) -> int:
        """Open the root, also when a test closed it or the folder above it."""
        above = _open_folder(os.path.dirname(self._root))
        try:
            return _open_folder(os.path.basename(self._root), above)
        except OSError as error:
            raise Refused("the work tree is gone: %s" % error.strerror)
        finally:
            os.close(above)

    def _children(self, folder: int, below: str) -> List[_Entry]:
        found = []
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            if _sayable(name):
                try:
                    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                except OSError:
                    continue
                found.append(_Entry(folder, name, below + name, status))
        return found

    def _walk(self) -> Iterator[_Entry]:
        """Every regular file with one link, bounded in number and depth; the entry is valid until the next one."""
        todo = [(self._enter(), "", 0)]
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
            return [(_open_folder(entry.name, entry.folder), entry.path + "/", depth + 1)]
        except OSError:
            return []

    def _look(self, entry: _Entry) -> _Known:
        executable = bool(entry.status.st_mode & stat.S_IXUSR)
        identity = _identity(entry.status)
        if entry.status.st_size > HASHED_BYTES:
            return _Known(identity, "", executable)
        data = _read_all(_open_file(entry), HASHED_BYTES + 1)
        return _Known(identity, hashlib.blake2b(data, digest_size=16).hexdigest(), executable)

    def files(self, limit: int) -> List[str]:
        """The paths of regular files, sorted, at most `limit`."""
        found = []
        for entry in self._walk():
            found.append(entry.path)
            if len(found) >= limit:
                break
        return sorted(found)

    def snap(self) -> int:
        """Remember the present state; returns the number of files."""
        self._known = {}
        started = _now(self._root)
        for entry in self._walk():
            try:
                known = self._look(entry)
            except OSError:
                continue
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
            raise Refused("%r is larger than %d bytes" % (entry.path[:200], HASHED_BYTES))
        return True

    def export(self, files: int, size: int) -> List[wire.Message]:
        """What differs from the snapshot.

        Args:
            files: How many files may differ.
            size: How many bytes they may have in all.

        Raises:
            Refused: a limit is broken, or a known file was replaced by something that is not a file.
        """
        found: List[wire.Message] = []
        seen = set()
        total = 0
        for entry in self._walk():
            seen.add(entry.path)
            try:
                if not self._changed(entry):
                    continue
                data = _read_all(_open_file(entry), HASHED_BYTES + 1)
            except OSError:
                continue
            total += len(data)
            mode = "100755" if entry.status.st_mode & stat.S_IXUSR else "100644"
            found.append({"path": entry.path, "mode": mode, "data": wire.pack(data)})
            if len(found) > files or total > size:
                raise Refused("more than %d files or %d bytes changed" % (files, size))
        found += self._deleted(seen)
        if len(found) > files:
            raise Refused("more than %d files changed" % files)
        return sorted(found, key=lambda edit: str(edit["path"]))

    def _deleted(self, seen: "set[str]") -> List[wire.Message]:
        gone: List[wire.Message] = []
        for path in sorted(set(self._known) - seen):
            if self._status(path) is not None:
                raise Refused("%r is no longer a plain file" % path[:200])
            gone.append({"path": path, "mode": "deleted", "data": ""})
        return gone

    def _at(self, parts: List[str], make: bool = False) -> int:
        """Open the folder of a path, one name at a time.

        Raises:
            OSError: it is not there, or is a link.
        """
        folder = self._enter()
        for name in parts:
            try:
                if make:
                    try:
                        os.mkdir(name, 0o755, dir_fd=folder)
                    except FileExistsError:
                        pass
                inner = _open_folder(name, folder)
            finally:
                os.close(folder)
            folder = inner
        return folder

    def _inside(
        self, path: str, action: "Callable[[int, str], Optional[bytes]]", make: bool = False
    ) -> Optional[bytes]:
        parts = parts_of(path)
        folder = self._at(parts[:-1], make)
        try:
            return action(folder, parts[-1])
        finally:
            os.close(folder)

    def _status(self, path: str) -> Optional[os.stat_result]:
        """What stands at a path, or None."""
        parts = parts_of(path)
        try:
            folder = self._at(parts[:-1])
        except OSError:
            return None
        try:
            return os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
        except OSError:
            return None
        finally:
            os.close(folder)

    def read(self, path: str, limit: int) -> Optional[bytes]:
        """A regular file, or None when there is none.

        Raises:
            Refused: the path leaves the tree, or the file is larger than `limit`.
        """
        status = self._status(path)
        if status is None or not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > limit:
            raise Refused("%r has more than %d bytes" % (path[:200], limit))

        def action(folder: int, name: str) -> bytes:
            return _read_all(_open_file(_Entry(folder, name, path, status)), limit)

        return self._inside(path, action)

    def write(self, path: str, mode: str, data: bytes) -> None:
        """Write or delete one file.

        Raises:
            Refused: the path leaves the tree, or something that is not a file stands there.
        """
        status = self._status(path)
        if status is not None and not stat.S_ISREG(status.st_mode):
            raise Refused("%r is a link, a folder or a special file" % path[:200])
        if mode == "deleted":
            if status is not None:
                self._delete(path)
            return

        def action(folder: int, name: str) -> None:
            # A new file takes the place of the old one: hard links to it elsewhere keep the old content.
            temporary = ".metaagent-new"
            _discard(temporary, folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=folder), "wb", buffering=0) as file:
                view = memoryview(data)
                while view:
                    view = view[file.write(view) or 0 :]
                os.fchmod(file.fileno(), 0o755 if mode == "100755" else 0o644)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)

        self._inside(path, action, make=True)

    def _delete(self, path: str) -> None:
        parts = parts_of(path)
        folder = self._at(parts[:-1])
        try:
            os.unlink(parts[-1], dir_fd=folder)
        finally:
            os.close(folder)
        # Like git: a folder without files is not there.
        for depth in range(len(parts) - 1, 0, -1):
            above = self._at(parts[: depth - 1])
            try:
                os.rmdir(parts[depth - 1], dir_fd=above)
            except OSError:
                return
            finally:
                os.close(above)


def _discard(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def _now(folder: str) -> int:
    """The file system's own idea of now, in nanoseconds."""
    path = os.path.join(os.path.dirname(folder), ".metaagent-now")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        now = os.stat(path, follow_symlinks=False).st_mtime_ns
        os.unlink(path)
    except OSError:
        return 0
    return now
