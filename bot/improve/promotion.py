"""Put an accepted version in place, and restore the previous one.

A cycle changes one file, and one rename replaces it: after a crash at any step, the old or the new
version is there whole. The previous version is stored before that rename. A fix of several files
has a rename for each; the diff that undoes all of them is stored before the first.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from bot.errors import UsageError
from bot.private import make_private_folder
from sandbox.apply import apply_diff, read_edits
from sandbox.diffs import Original, write_diff
from sandbox.types import FileEdit, Frozen

_MANIFEST = "manifest.json"
_CONTENT = "previous"


class StoredVersion(Frozen):
    """The manifest of a previous version."""

    id: str
    root: str
    path: str
    mode: str
    old_sha256: str
    new_sha256: str
    is_self: bool = False

    @property
    def file(self) -> Path:
        """Return the file that it belongs to."""
        return Path(self.root) / self.path


class StoredFix(Frozen):
    """The manifest of a fix that was put in place, with the way back."""

    id: str
    root: str
    undo: str
    """Diff from the fixed files to the previous ones."""
    hashes: dict[str, str]
    """SHA-256 of each fixed file by path."""
    created: tuple[str, ...] = ()
    """Files that the fix created."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the files that it changed."""
        return tuple(Path(self.root) / path for path in self.hashes)


def hash_of(content: bytes) -> str:
    """Return the SHA-256 of a file's bytes."""
    return hashlib.sha256(content).hexdigest()


def make_diff(path: str, original: Original, content: bytes) -> str:
    """Return the unified diff to a file's new content.

    Args:
        path: The file, relative to the project.
        original: Its old content and mode.
        content: Its new content.
    """
    return write_diff([make_edit(path, original, content)], {path: original})


def make_edit(path: str, original: Original, content: bytes) -> FileEdit:
    """Return the edit that gives a file its new content.

    Args:
        path: The file, relative to the project.
        original: Its old content and mode.
        content: Its new content.
    """
    mode: Literal["100644", "100755"] = "100755" if original.mode == "100755" else "100644"
    return FileEdit(path=path, mode=mode, content=content)


def promote(folder: Path, version: StoredVersion, old: bytes, new: bytes) -> Path:
    """Store the previous version and replace the file; return the folder of the stored version.

    Args:
        folder: The folder of all stored versions.
        version: The manifest to store.
        old: The previous content.
        new: The accepted content.

    Raises:
        ChangeRejected: the file changed since it was read, or cannot be written; it stays as it is.
        OSError: the previous version cannot be stored; the file stays as it is.
    """
    kept = folder / version.id
    make_private_folder(kept)
    write_durably(kept / _CONTENT, old)
    # A version without a manifest is ignored, so the manifest comes last.
    write_durably(kept / _MANIFEST, version.model_dump_json().encode())
    _replace(version, old, new)
    return kept


def promote_fix(folder: Path, fix_id: str, root: Path, diff: str) -> Path:
    """Store the way back and write a fix; return the folder where it is stored.

    Args:
        folder: The folder of all stored versions.
        fix_id: An id that begins with the time.
        root: The project's folder.
        diff: The verified fix.

    Raises:
        ChangeRejected: a file changed since it was read, or cannot be written.
        OSError: the way back cannot be stored; all files stay as they are.
    """
    edits = read_edits(root, diff)
    before = {edit.path: _read(root / edit.path) for edit in edits}
    previous = [edit.with_(content=old) for edit in edits if (old := before[edit.path]) is not None]
    fixed = {edit.path: Original(content=edit.content, mode=edit.mode) for edit in edits}
    stored = StoredFix(
        id=fix_id,
        root=str(root),
        undo=write_diff(previous, fixed),
        hashes={edit.path: hash_of(edit.content) for edit in edits},
        created=tuple(path for path, old in before.items() if old is None),
    )
    kept = folder / fix_id
    make_private_folder(kept)
    write_durably(kept / _MANIFEST, stored.model_dump_json().encode())
    apply_diff(root, diff)
    return kept


def roll_back(folder: Path, file: Path | None = None) -> StoredVersion | StoredFix:
    """Restore the newest stored version whose successor is still in place.

    Args:
        folder: The folder of all stored versions.
        file: Only a version of this file; None takes any.

    Raises:
        UsageError: there is none.
        ChangeRejected: the file cannot be written; it stays as it is.
    """
    for kept, version in _stored(folder):
        if isinstance(version, StoredFix):
            if (file is None or file in version.files) and _undo(version):
                return version
            continue
        if file is not None and version.file != file:
            continue
        current = _read(version.file)
        old = _read(kept / _CONTENT)
        if current is None or old is None or hash_of(current) != version.new_sha256:
            continue
        if hash_of(old) == version.old_sha256:
            _replace(version, current, old)
            return version
    raise UsageError(
        "there is no promoted version that could be rolled back",
        "a file that was edited after its promotion is left alone",
    )


def write_durably(path: Path, content: bytes) -> None:
    """Write a file of ours whole: a reader sees all of it or nothing.

    Args:
        path: The file.
        content: Its bytes.
    """
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def _replace(version: StoredVersion, old: bytes, new: bytes) -> None:
    original = Original(content=old, mode=version.mode)
    apply_diff(Path(version.root), make_diff(version.path, original, new))


def _undo(fix: StoredFix) -> bool:
    """Restore all files of a fix; return False if one of them was changed since."""
    root = Path(fix.root)
    current = {path: _read(root / path) for path in fix.hashes}
    if any(now is None or hash_of(now) != fix.hashes[path] for path, now in current.items()):
        return False
    if fix.undo:
        apply_diff(root, fix.undo)
    for path in fix.created:
        (root / path).unlink()
    return True


def _stored(folder: Path) -> Iterator[tuple[Path, StoredVersion | StoredFix]]:
    """Yield the stored versions, newest first; ids begin with their time."""
    for kept in sorted(folder.iterdir(), reverse=True) if folder.is_dir() else ():
        manifest = _read(kept / _MANIFEST)
        for kind in (StoredVersion, StoredFix) if manifest is not None else ():
            # Others are not ours, or of a version that we cannot read.
            with suppress(ValidationError):
                yield kept, kind.model_validate_json(manifest or b"")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
