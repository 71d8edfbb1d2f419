"""The files of an evidence bundle on their way into a sandbox: a tar archive that somebody else may have written."""

import asyncio
import io
import stat
import tarfile
from collections.abc import Iterable

from sandbox.checkout import FolderSource
from sandbox.diffs import Original
from sandbox.errors import ImportRejected
from sandbox.spec import SandboxSpec

ADVICE = "Take the bundle from where it was written, or raise the limit it is over."
_NAME_CHARACTERS = 1000
_TAR_TROUBLE = (tarfile.TarError, ValueError, OverflowError, EOFError, RecursionError)
"""What a malformed archive makes the reader raise."""


async def take_archive(content: bytes, spec: SandboxSpec) -> FolderSource:
    """Read a tar archive of regular files, within the limits of a checkout; nothing is unpacked on this host.

    Raises:
        ImportRejected: it is malformed, over a limit, or holds anything but regular files below one folder.
    """
    return await asyncio.to_thread(_take, content, spec)


def _take(content: bytes, spec: SandboxSpec) -> FolderSource:
    files: dict[str, Original] = {}
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for entry in archive:
                total += entry.size
                _check(entry, files, total, spec)
                file = archive.extractfile(entry)
                data = file.read(entry.size) if file is not None else b""
                if len(data) != entry.size:
                    raise ImportRejected("The bundle's checkout ends in the middle of a file.", ADVICE)
                mode = "100755" if entry.mode & stat.S_IXUSR else "100644"
                files[entry.name] = Original(content=data, mode=mode)
    except _TAR_TROUBLE as error:
        raise ImportRejected("The bundle's checkout is not a readable tar archive.", ADVICE) from error
    _require_a_tree(files)
    return FolderSource.of(files)


def _check(entry: tarfile.TarInfo, files: dict[str, Original], total: int, spec: SandboxSpec) -> None:
    if not entry.isreg() or entry.issparse():
        raise ImportRejected("The bundle's checkout holds something that is not a regular file.", ADVICE)
    if not _is_plain(entry.name) or entry.name in files:
        raise ImportRejected(
            f"The bundle's checkout holds a file of a refused name: {ascii(entry.name)[:120]}.", ADVICE
        )
    if len(files) >= spec.max_files:
        raise ImportRejected(f"The bundle's checkout has more than {spec.max_files} files.", ADVICE)
    if entry.size > spec.max_blob_bytes or total > spec.max_tree_bytes:
        limit = min(spec.max_blob_bytes, spec.max_tree_bytes)
        raise ImportRejected(f"The files of the bundle's checkout are larger than {limit} bytes.", ADVICE)


def _is_plain(name: str) -> bool:
    """Whether a name is one plain spelling of a file below the folder, and not of git."""
    if not 0 < len(name) <= _NAME_CHARACTERS or "\0" in name:
        return False
    parts = name.split("/")
    return all(part not in {"", ".", ".."} and part.casefold() != ".git" for part in parts)


def _require_a_tree(names: Iterable[str]) -> None:
    """No file may stand where another one needs a folder."""
    known = set(names)
    for name in known:
        parts = name.split("/")
        if any("/".join(parts[:end]) in known for end in range(1, len(parts))):
            raise ImportRejected("A file of the bundle's checkout stands where another one needs a folder.", ADVICE)
