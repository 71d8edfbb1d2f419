"""Convert proposed changes to edits: pure functions of the current contents."""

from collections.abc import Callable, Iterable

from sandbox.changes.paths import check_path, show
from sandbox.errors import ChangeRejected
from sandbox.types import ChangeAction, FileChange, FileEdit

Read = Callable[[str], bytes | None]
"""Returns the current content of a file, None if it does not exist."""

MAX_FILE_BYTES = 1 << 20
MANY = 3
"""Occurrences are counted up to this number."""


def paths_needed(changes: Iterable[FileChange]) -> tuple[str, ...]:
    """Return the paths that `apply` reads, each validated.

    Raises:
        ChangeRejected: A path is not allowed.
    """
    found: dict[str, None] = {}
    for change in changes:
        found[check_path(change.path)] = None
        if change.action is ChangeAction.RENAME:
            found[check_path(change.content or "")] = None
    return tuple(found)


def apply(changes: Iterable[FileChange], read: Read) -> tuple[FileEdit, ...]:
    """Return the edited files, in the order of their first change.

    Later changes see the results of earlier ones. The mode is always 100644; the caller restores
    the executable bit.

    Raises:
        ChangeRejected: A path is refused, the searched text does not occur exactly once, or a file
            is missing, already exists, is too large, or is not text.
    """
    state = _State(read)
    for change in changes:
        path = check_path(change.path)
        match change.action:
            case ChangeAction.REPLACE:
                state.write(path, _replace(path, state.get(path), change))
            case ChangeAction.CREATE:
                if state.get(path) is not None:
                    raise ChangeRejected(f"{show(path)} already exists and cannot be created")
                state.write(path, _encode(path, change.content or ""))
            case ChangeAction.DELETE:
                state.remove(path)
            case ChangeAction.RENAME:
                target = check_path(change.content or "")
                if state.get(target) is not None:
                    raise ChangeRejected(f"{show(target)} already exists")
                state.write(target, state.remove(path))
    return state.edits()


class _State:
    """The files after the changes so far."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._original: dict[str, bytes | None] = {}
        self._present: dict[str, bytes | None] = {}

    def get(self, path: str) -> bytes | None:
        if path not in self._present:
            self._original[path] = self._present[path] = self._read(path)
        return self._present[path]

    def write(self, path: str, content: bytes) -> None:
        self.get(path)
        self._present[path] = content

    def remove(self, path: str) -> bytes:
        content = self.get(path)
        if content is None:
            raise ChangeRejected(f"{show(path)} does not exist")
        self._present[path] = None
        return content

    def edits(self) -> tuple[FileEdit, ...]:
        found = []
        for path, content in self._present.items():
            if content == self._original[path]:
                continue
            if content is None:
                found.append(FileEdit(path=path, mode="deleted"))
            else:
                found.append(FileEdit(path=path, mode="100644", content=content))
        return tuple(found)


def _replace(path: str, present: bytes | None, change: FileChange) -> bytes:
    if change.content is None:
        raise ChangeRejected(f"the change of {show(path)} has no new content")
    if change.search_for is None:
        if present is None:
            raise ChangeRejected(f"{show(path)} does not exist and cannot be replaced")
        return _encode(path, change.content)
    if present is None:
        raise ChangeRejected(f"{show(path)} does not exist")
    searched = change.search_for.encode("utf-8", "surrogatepass")
    content = _encode(path, change.content)
    # A proposal has LF line ends; the file decides which ones are written.
    windows = searched.replace(b"\n", b"\r\n")
    if b"\r\n" in present and b"\r\n" not in searched and windows in present:
        searched, content = windows, content.replace(b"\n", b"\r\n")
    places = _places(present, searched)
    if places != 1:
        found = "does not occur" if places == 0 else f"occurs {places} times"
        raise ChangeRejected(
            f"the text to replace in {show(path)} {found}; it must occur exactly once",
            "Quote more of the surrounding lines."
            if places
            else "Quote the file exactly, with its spaces.",
        )
    return _check_size(path, present.replace(searched, content, 1))


def _places(content: bytes, searched: bytes) -> int:
    """Count the occurrences of a text, overlapping ones included, up to three."""
    if not searched:
        return 0
    count, start = 0, content.find(searched)
    while start >= 0 and count < MANY:
        count += 1
        start = content.find(searched, start + 1)
    return count


def _encode(path: str, text: str) -> bytes:
    try:
        return _check_size(path, text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ChangeRejected(f"the new content of {show(path)} is not valid Unicode") from error


def _check_size(path: str, content: bytes) -> bytes:
    if len(content) > MAX_FILE_BYTES:
        raise ChangeRejected(
            f"the new content of {show(path)} is larger than {MAX_FILE_BYTES} bytes"
        )
    return content
