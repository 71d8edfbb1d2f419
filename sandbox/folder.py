"""Read a folder of this host without running code in it and without following links out of it."""

import os
import re
import stat
import struct
from collections.abc import Collection, Iterable
from pathlib import Path

from sandbox.diffs import Original
from sandbox.errors import ImportRejected
from sandbox.spec import SandboxSpec

_LEFT_OUT = frozenset(
    (
        *(
            ".git",
            ".hg",
            ".svn",
            "__pycache__",
            ".tox",
            ".nox",
            ".venv",
            ".eggs",
            ".cache",
        ),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".DS_Store"),
    )
)
_PRIVATE = re.compile(
    r"\.env(?:\.[\w-]+)?\.local|\.env|\.envrc|\.netrc|\.pypirc|\.git-credentials|id_(?:rsa|dsa"
    r"|ecdsa|ed25519)"
)
"""Files that hold a person's secrets. A commit rarely has them, a folder may."""


_PACKAGES = "node_modules"
"""Installed packages, which the sandbox installs itself. Of this folder only what git tracks is
read: tests come with packages of their own."""
_LONGEST_NAME = 400
_MOST_FOLDERS = 500_000
"""Limits of what is read of an index, which may be hostile: characters, and folders in all."""
_INDEX_BYTES = 64 << 20
_INDEX_VERSIONS = (2, 3)
_ENTRY_BYTES = 62
"""Size of an entry in git's index before its name, with digests of 20 bytes."""
_EXTENDED = 0x4000


def read_folder(root: Path, spec: SandboxSpec) -> tuple[dict[str, Original], set[str]]:
    """Read the regular files of a folder. Return them by name, with notes on what was left out.

    Raises:
        ImportRejected: The path is not a folder, or a limit is exceeded.
    """
    if not root.is_dir():
        raise ImportRejected(f"{root} is not a folder.", "Name the folder of the project.")
    files: dict[str, Original] = {}
    notes: set[str] = set()
    size = _Size(spec)
    for path in _walk(root, notes, _tracked_packages(root)):
        with open(path, "rb", opener=_no_links) as file:
            # Check the opened file and not its path, which may be replaced in between.
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                continue
            size.add(status.st_size)
            mode = "100755" if status.st_mode & stat.S_IXUSR else "100644"
            name = str(path.relative_to(root))
            files[name] = Original(content=file.read(status.st_size), mode=mode)
    return files, notes


def count_files(root: Path, spec: SandboxSpec) -> int:
    """Count the files that would be read.

    Raises:
        ImportRejected: A limit is exceeded.
    """
    size = _Size(spec)
    for file in _walk(root, set(), _tracked_packages(root)):
        size.add(file.lstat().st_size)
    return size.files


class _Size:
    """Running total of files and bytes that rejects the first excess.

    Args:
        spec: The limits.
    """

    def __init__(self, spec: SandboxSpec) -> None:
        self._spec = spec
        self._bytes = 0
        self.files = 0

    def add(self, size: int) -> None:
        """Count one more file.

        Args:
            size: Its size in bytes.

        Raises:
            ImportRejected: A limit is exceeded.
        """
        self.files += 1
        self._bytes += size
        if self.files > self._spec.max_files:
            message = f"The folder has more than {self._spec.max_files} files."
            raise ImportRejected(message, "Raise max_files.", limit="max_files")
        for limit, found in (("max_blob_bytes", size), ("max_tree_bytes", self._bytes)):
            most = getattr(self._spec, limit)
            if found > most:
                what = (
                    "A file of the folder is"
                    if limit == "max_blob_bytes"
                    else "The folder's files are"
                )
                raise ImportRejected(
                    f"{what} larger than {most} bytes.", f"Raise {limit}.", limit=limit
                )


def _no_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _tracked_packages(root: Path) -> Collection[str]:
    """Return the files that git tracks in folders of packages, with all folders above them.

    The index is read without git, whose settings in the folder could start programs.
    """
    try:
        with open(root / ".git" / "index", "rb", opener=_no_links) as file:
            data = file.read(_INDEX_BYTES)
        found = [
            name
            for name in _index_names(data)
            if len(name) <= _LONGEST_NAME and _PACKAGES in name.split("/")
        ]
    except (OSError, ValueError, struct.error):
        return ()
    if sum(name.count("/") for name in found) > _MOST_FOLDERS:
        return ()
    places = {place for name in found for place in (Path(name), *Path(name).parents)}
    return {str(root / place) for place in places}


def _index_names(data: bytes) -> Iterable[str]:
    """Yield the names in git's index; none in one of another version."""
    _, version, count = struct.unpack_from(">4sLL", data)
    start = 12
    for _ in range(count if data.startswith(b"DIRC") and version in _INDEX_VERSIONS else 0):
        (flags,) = struct.unpack_from(">H", data, start + _ENTRY_BYTES - 2)
        name = start + _ENTRY_BYTES + (2 if flags & _EXTENDED else 0)
        end = data.index(b"\0", name)
        yield os.fsdecode(data[name:end])
        start += (end - start + 8) // 8 * 8


def _walk(
    folder: Path, notes: set[str], tracked: Collection[str], *, packages: bool = False
) -> Iterable[Path]:
    """Yield the regular files below a folder in a fixed order.

    Args:
        folder: The folder.
        notes: Gets what was left out.
        tracked: What is read of folders with packages.
        packages: Whether this is inside of such a folder.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        notes.add("unreadable folders")
        return
    if any(entry.name == "pyvenv.cfg" for entry in entries):
        return  # a virtual environment: the sandbox creates its own
    for entry in entries:
        inside = packages or entry.name == _PACKAGES
        if inside and str(Path(entry.path)) not in tracked:
            continue
        if entry.name in _LEFT_OUT or not re.fullmatch(r"[^\0-\x1f\x7f\udc80-\udcff]+", entry.name):
            continue
        if entry.is_symlink():
            notes.add("symbolic links (left out)")
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), notes, tracked, packages=inside)
        elif _PRIVATE.fullmatch(entry.name):
            notes.add("files of secrets (left out)")
        elif entry.is_file(follow_symlinks=False) and os.access(entry.path, os.R_OK):
            yield Path(entry.path)
