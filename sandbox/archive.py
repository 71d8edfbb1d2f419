"""Read the files of an evidence bundle: an untrusted tar archive."""

import asyncio
import io
import stat
import tarfile
from collections.abc import Iterable

from sandbox.checkout import FolderContents
from sandbox.diffs import Original
from sandbox.errors import ImportRejected
from sandbox.spec import SandboxSpec

ADVICE = "Copy the bundle again from where it was written, or raise the limit that it exceeds."
_NAME_CHARACTERS = 1000
_TAR_TROUBLE = (tarfile.TarError, ValueError, OverflowError, EOFError, RecursionError)
"""Exceptions that the reader raises for a malformed archive."""


async def take_archive(content: bytes, spec: SandboxSpec) -> FolderContents:
    """Read a tar archive of regular files within the limits of a checkout, without unpacking it.

    Raises:
        ImportRejected: The archive is malformed, exceeds a limit, or holds an entry that is not a
            regular file below its root.
    """
    return await asyncio.to_thread(_take, content, spec)


def _take(content: bytes, spec: SandboxSpec) -> FolderContents:
    files: dict[str, Original] = {}
    total = 0
    try:
        # The mode `r:` accepts no compression, so that the input bounds the size.
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for entry in archive:
                total += entry.size
                _check(entry, files, total, spec)
                file = archive.extractfile(entry)
                data = file.read(entry.size) if file is not None else b""
                if len(data) != entry.size:
                    raise ImportRejected("The bundle's checkout is truncated.", ADVICE)
                mode = "100755" if entry.mode & stat.S_IXUSR else "100644"
                files[entry.name] = Original(content=data, mode=mode)
    except _TAR_TROUBLE as error:
        raise ImportRejected(
            "The bundle's checkout is not a readable tar archive.", ADVICE
        ) from error
    _check_no_file_is_a_folder(files)
    return FolderContents.of(files)


def _check(
    entry: tarfile.TarInfo, files: dict[str, Original], total: int, spec: SandboxSpec
) -> None:
    if not entry.isreg() or entry.issparse():
        raise ImportRejected(
            "The bundle's checkout contains an item that is not a regular file.", ADVICE
        )
    if not _is_plain(entry.name) or entry.name in files:
        raise ImportRejected(
            f"The bundle's checkout contains a forbidden file name: {ascii(entry.name)[:120]}.",
            ADVICE,
        )
    if len(files) >= spec.max_files:
        raise ImportRejected(f"The bundle's checkout has more than {spec.max_files} files.", ADVICE)
    if entry.size > spec.max_blob_bytes or total > spec.max_tree_bytes:
        limit = min(spec.max_blob_bytes, spec.max_tree_bytes)
        raise ImportRejected(
            f"The files of the bundle's checkout are larger than {limit} bytes.", ADVICE
        )


def _is_plain(name: str) -> bool:
    """Return True if a name is a canonical relative path outside `.git`."""
    if not 0 < len(name) <= _NAME_CHARACTERS or "\0" in name:
        return False
    parts = name.split("/")
    return all(part not in {"", ".", ".."} and part.casefold() != ".git" for part in parts)


def _check_no_file_is_a_folder(names: Iterable[str]) -> None:
    """Check that no file has the path of another file's folder."""
    known = set(names)
    for name in known:
        parts = name.split("/")
        if any("/".join(parts[:end]) in known for end in range(1, len(parts))):
            raise ImportRejected(
                "The bundle's checkout uses one path as a file and as a folder.", ADVICE
            )
