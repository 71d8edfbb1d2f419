"""Apply changes and read context in a running sandbox.

Files are read there, checked here, and written whole.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from sandbox.changes.edits import MAX_FILE_BYTES, apply, paths_needed
from sandbox.changes.paths import check_path, is_safe_path
from sandbox.errors import ChangeRejected
from sandbox.spec import RunLimits
from sandbox.types import CommandResult, FileChange, FileContext, FileEdit

MAX_CONTEXT_LINE = 2000
MAX_AROUND = 200
_LINE_END = re.compile(r"\r\n?|\n")
"""Tools count no other line ends, such as form feeds."""
_EXECUTABLE = (
    'for path do if [ -f "$path" ] && [ ! -L "$path" ] && [ -x "$path" ]; then echo "$path"; fi; '
    "done"
)


class GuestFiles(Protocol):
    """The file operations of a Guest."""

    async def read(self, path: str, *, max_bytes: int = 1 << 20) -> bytes | None:
        """Return a regular file below the work tree, or None."""
        ...

    async def run(self, argv: tuple[str, ...], *, limits: RunLimits) -> CommandResult:
        """Run one command in the work tree."""
        ...

    async def write(self, edits: Iterable[FileEdit]) -> None:
        """Write or delete files below the work tree."""
        ...


async def apply_changes(guest: GuestFiles, changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Edit the checkout, all or nothing. Return the paths that differ now.

    Raises:
        ChangeRejected: A change breaks a rule; nothing was written.
    """
    contents = {
        path: await guest.read(path, max_bytes=MAX_FILE_BYTES) for path in paths_needed(changes)
    }
    executable = await executable_paths(
        guest, tuple(path for path, content in contents.items() if content is not None)
    )
    edits = tuple(
        edit.with_(mode="100755") if edit.mode != "deleted" and edit.path in executable else edit
        for edit in apply(changes, contents.get)
    )
    await guest.write(edits)
    return tuple(edit.path for edit in edits)


async def executable_paths(guest: GuestFiles, paths: tuple[str, ...]) -> frozenset[str]:
    """Return the executable paths. Edits keep the mode, because a mode change is a change."""
    if not paths:
        return frozenset()
    result = await guest.run(
        ("/bin/sh", "-c", _EXECUTABLE, "sh", *paths), limits=RunLimits(wall_s=20.0)
    )
    return frozenset(result.stdout.splitlines()) & frozenset(paths)


async def read_file_context(
    guest: GuestFiles, path: str, line: int, *, around: int = 6
) -> FileContext:
    """Return the source around a line; `success` is False if the file or line does not exist.

    Raises:
        ChangeRejected: The path is not allowed.
    """
    if not is_safe_path(path):
        check_path(path)
    try:
        content = await guest.read(path, max_bytes=MAX_FILE_BYTES)
    except ChangeRejected:
        content = None
    if content is None:
        return FileContext(success=False, file=path, focus_line=line)
    return focus(content.decode("utf-8", "replace"), path, line, around=around)


def focus(text: str, path: str, line: int, *, around: int = 6) -> FileContext:
    """Return the lines around one line of a text."""
    lines = [each[:MAX_CONTEXT_LINE] for each in _LINE_END.split(text)]
    if not lines[-1]:
        lines.pop()
    if not 1 <= line <= len(lines):
        return FileContext(success=False, file=path, focus_line=line, total_lines=len(lines))
    around = max(0, min(around, MAX_AROUND))
    first, last = max(1, line - around), min(len(lines), line + around)
    width = len(str(last))
    snippet = "\n".join(
        f"{'->' if number == line else '  '} {number:>{width}} | {lines[number - 1]}"
        for number in range(first, last + 1)
    )
    return FileContext(
        success=True,
        file=path,
        focus_line=line,
        focus_content=lines[line - 1],
        context_before=tuple(lines[first - 1 : line - 1]),
        context_after=tuple(lines[line:last]),
        total_lines=len(lines),
        snippet=snippet,
    )
