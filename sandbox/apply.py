"""Write a verified diff into a folder of this host: all or nothing, following no symbolic links."""

import contextlib
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from sandbox.changes.patch import read_patch
from sandbox.errors import ChangeRejected
from sandbox.types import FileEdit

_LARGEST = 8 << 20


def apply_diff(folder: Path, diff: str) -> tuple[str, ...]:
    """Apply a unified diff to the current files and return the paths that were written.

    Args:
        folder: The project's folder.
        diff: A diff against the files at the start of the mission.

    Raises:
        ChangeRejected: A file differs from the diff's original, or is only reachable through a
            link. Nothing is written then.
    """
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    staged: list[_Staged] = []
    try:
        edits = read_patch(diff.encode(), lambda path: _read(root, path))
        for edit in edits:
            # Append one by one, so that staged files are closed even if the next one fails.
            staged.append(_stage(root, edit))  # noqa: PERF401
        for one in staged:
            _move_into_place(one)
    finally:
        for one in staged:
            one.close()
        os.close(root)
    return tuple(edit.path for edit in edits)


def read_edits(folder: Path, diff: str) -> tuple[FileEdit, ...]:
    """Read a unified diff as edits of the current files, without writing anything.

    Args:
        folder: The project's folder.
        diff: A diff against the original files.

    Raises:
        ChangeRejected: A file differs from the diff's original, or is only reachable through a
            link.
    """
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return read_patch(diff.encode(), lambda path: _read(root, path))
    finally:
        os.close(root)


@dataclass(frozen=True)
class _Staged:
    """A temporary file beside its target.

    The rename is atomic: readers see the old or the new content.
    """

    path: str
    parent: int
    temporary: str
    name: str

    def close(self) -> None:
        """Remove the temporary file if it was not moved into place."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.temporary, dir_fd=self.parent)
        os.close(self.parent)


def _parent(root: int, path: str) -> int:
    """Open the parent folder of a path component by component, without following links."""
    here = os.dup(root)
    # One component at a time, because O_NOFOLLOW only protects the last one.
    for part in path.split("/")[:-1]:
        try:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
        except OSError as error:
            raise ChangeRejected(
                f"{path} cannot be reached ({error.strerror})", "apply the diff by hand"
            ) from error
        finally:
            os.close(here)
        here = inner
    return here


def _read(root: int, path: str) -> bytes | None:
    parent = _parent(root, path)
    try:
        descriptor = os.open(
            path.rsplit("/", 1)[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ChangeRejected(
            f"{path} cannot be read ({error.strerror})", "apply the diff by hand"
        ) from error
    finally:
        os.close(parent)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ChangeRejected(f"{path} is not a regular file", "apply the diff by hand")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ChangeRejected(f"{path} is larger than {_LARGEST} bytes", "apply the diff by hand")
    return content


def _stage(root: int, edit: FileEdit) -> _Staged:
    """Write the new content to a temporary file.

    Every error is raised here, before any file is replaced.
    """
    name = edit.path.rsplit("/", 1)[-1]
    parent = _parent(root, edit.path)
    staged = _Staged(edit.path, parent, f".metaagent-{secrets.token_hex(8)}", name)
    try:
        mode = _present_mode(parent, name) or 0o644
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(staged.temporary, flags, mode, dir_fd=parent), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(edit.content)
    except OSError as error:
        staged.close()
        raise ChangeRejected(
            f"{edit.path} cannot be written ({error.strerror})", "apply the diff by hand"
        ) from error
    return staged


def _move_into_place(staged: _Staged) -> None:
    try:
        os.rename(staged.temporary, staged.name, src_dir_fd=staged.parent, dst_dir_fd=staged.parent)
    except OSError as error:
        raise ChangeRejected(
            f"{staged.path} cannot be written ({error.strerror})", "apply the diff by hand"
        ) from error


def _present_mode(parent: int, name: str) -> int | None:
    """Return the current permissions of a file; a diff does not contain them."""
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return None
