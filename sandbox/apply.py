"""Write a verified diff into a folder of this host: strictly, all or nothing, never through a symbolic link."""

import os
import stat
from pathlib import Path

from sandbox.changes.patch import read_patch
from sandbox.errors import ChangeRejected
from sandbox.types import FileEdit

_LARGEST = 8 << 20


def apply_diff(folder: Path, diff: str) -> tuple[str, ...]:
    """Apply a unified diff to the files as they are now; the paths that were written.

    Args:
        folder: The project's folder.
        diff: Made against the files as they were when the mission began.

    Raises:
        ChangeRejected: a file is not what the diff was made for, or cannot be reached without a link; nothing is
            written then.
    """
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        edits = read_patch(diff.encode(), lambda path: _read(root, path))
        for edit in edits:
            _write(root, edit)
    finally:
        os.close(root)
    return tuple(edit.path for edit in edits)


def _parent(root: int, path: str) -> int:
    """A descriptor of the folder a path stands in, opened step by step without following links."""
    here = os.dup(root)
    for part in path.split("/")[:-1]:
        try:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
        except OSError as error:
            raise ChangeRejected(f"{path} cannot be reached ({error.strerror})", "apply the diff by hand") from error
        finally:
            os.close(here)
        here = inner
    return here


def _read(root: int, path: str) -> bytes | None:
    parent = _parent(root, path)
    try:
        descriptor = os.open(path.rsplit("/", 1)[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ChangeRejected(f"{path} cannot be read ({error.strerror})", "apply the diff by hand") from error
    finally:
        os.close(parent)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ChangeRejected(f"{path} is not a regular file", "apply the diff by hand")
        return file.read(_LARGEST)


def _write(root: int, edit: FileEdit) -> None:
    name = edit.path.rsplit("/", 1)[-1]
    parent = _parent(root, edit.path)
    try:
        if edit.mode == "deleted":
            os.unlink(name, dir_fd=parent)
            return
        # Written beside and moved over: a reader sees the old file or the new one.
        temporary = f".{name}.metaagent"
        mode = _present_mode(parent, name) or 0o644
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(temporary, flags, mode, dir_fd=parent), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(edit.content)
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError as error:
        raise ChangeRejected(f"{edit.path} cannot be written ({error.strerror})", "apply the diff by hand") from error
    finally:
        os.close(parent)


def _present_mode(parent: int, name: str) -> int | None:
    """The permissions the file has now; the diff says nothing of them."""
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return None
